import { CreateMode } from "node-zookeeper-client";
import { acquire, type Lock } from "@holdfast/lock";
import { zookeeper } from "@holdfast/lock/zookeeper";
import type { TestClient, ZookeeperEnsemble } from "../tests/support/zookeeper_server.ts";
import type { Figure } from "./figure.ts";

/** The node below which Curator's requests make theirs. */
const PATH = "/curator";

/** So many locks are taken, renewed and released while requests are counted. */
const LOCKS = 100;

/** What a client has that Curator's recipe needs. */
interface CuratorClient {
  create(path: string, mode: number, done: (error: unknown, path: string) => void): void;
  getChildren(path: string, done: (error: unknown, names: string[]) => void): void;
  remove(path: string, done: (error: unknown) => void): void;
}

/** What is counted. */
export interface RequestsOptions {
  readonly name: string;
  readonly client: TestClient;
  readonly ensemble: ZookeeperEnsemble;
}

/** Makes the node of the locks of {@linkcode curatorPair}. */
export async function curatorPath(client: TestClient): Promise<void> {
  await answer<void>((done) => client.mkdirp(PATH, done));
}

/** What Curator's `InterProcessMutex` documents for a lock that is free: create, getChildren, delete. */
export async function curatorPair(client: TestClient): Promise<void> {
  await release(client, await take(client));
}

async function take(testClient: TestClient): Promise<string> {
  const client = testClient as unknown as CuratorClient;
  const node = await answer<string>((done) => {
    client.create(`${PATH}/lock-`, CreateMode.EPHEMERAL_SEQUENTIAL, done);
  });
  const names = await answer<string[]>((done) => client.getChildren(PATH, done));
  if (!names.includes(node.slice(PATH.length + 1))) throw new Error("the node is gone");
  return node;
}

async function release(client: TestClient, node: string): Promise<void> {
  await answer<void>((done) => (client as unknown as CuratorClient).remove(node, done));
}

function answer<T>(send: (done: (error: unknown, result?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => send((error, result) => error ? reject(error) : resolve(result as T)));
}

/** What is done with the lock of a number. */
type Step = (lock: number) => Promise<unknown>;

/** Counts, at the servers, what locks take that nobody else wants. Pings of the session are counted, too. */
export async function requests({ name, client, ensemble }: RequestsOptions): Promise<Figure[]> {
  const store = zookeeper(client, { path: "/requests" });
  const locks: Lock[] = [];
  const nodes: string[] = [];
  const ours = async (lock: number) => locks[lock] = await acquire(store, `${lock}`);
  const curators = async (lock: number) => nodes[lock] = await take(client);
  const steps: readonly [what: string, ours: Step, curators: Step][] = [
    ["acquire of a name that is new to the store", ours, curators],
    ["renewal", (lock) => locks[lock]!.extend(30_000), () => Promise.resolve()],
    ["release", (lock) => locks[lock]!.release(), (lock) => release(client, nodes[lock]!)],
    ["acquire", ours, curators],
  ];
  const counted = async (step: Step) => {
    const before = await received(client, ensemble);
    for (let lock = 0; lock < LOCKS; lock++) await step(lock);
    return (await received(client, ensemble) - before) / LOCKS;
  };
  // Makes the path.
  await (await acquire(store, "first")).release();
  const figures: Figure[] = [];
  for (const [what, mine, curators] of steps) {
    figures.push({
      what: `${name}: requests per ${what}`,
      ours: { value: await counted(mine), unit: "" },
      reference: { name: "Curator's", value: await counted(curators), unit: "" },
    });
  }
  for (const lock of locks) await lock.release();
  for (const node of nodes) await release(client, node);
  return figures;
}

/** Returns how many requests the servers have received from a client. */
async function received(client: TestClient, { servers }: ZookeeperEnsemble): Promise<number> {
  const session = `sid=0x${client.getSessionId().toHex().replace(/^0+/, "")},`;
  const answers = await Promise.all(servers.map((server) => server.command("cons")));
  const line = answers.join("\n").split("\n").find((line) => line.includes(session));
  const [, count] = line?.match(/recved=(\d+)/) ?? [];
  if (count === undefined) throw new Error(`no server has the session ${session}`);
  return Number(count);
}
