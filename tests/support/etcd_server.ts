import { findEtcd } from "./etcd.ts";
import { freePort } from "./free_port.ts";
import { ServerProcess, startedServer } from "./server_process.ts";
import { TestServer } from "./test_server.ts";
import { HANG_MS } from "./until.ts";

/** How long an answer may take, in milliseconds: one that starts, or has no leader, may never give it. */
const ANSWER_LIMIT_MS = 10_000;

/** A file system in memory, which Linux has: etcd waits for the disk with each write. */
const IN_MEMORY = "/dev/shm";

const PREFIX = "holdfast_etcd_";

/**
 * What the tests look at in the answers of the JSON gateway: each method has some of it. Numbers of 64 bits are texts.
 */
export interface EtcdAnswer {
  readonly error?: string;
  readonly header: { readonly revision: string; readonly "member_id": string };
  readonly leader: string;
  readonly members: readonly { readonly name?: string; readonly ID: string }[];
  readonly count: string;
  readonly kvs: readonly { readonly "mod_revision": string }[];
  readonly dbSize: string;
  readonly token: string;
  readonly leases?: readonly unknown[];
  /** The id of a lease. */
  readonly ID: string;
  readonly succeeded?: boolean;
  /** Of a lease that was kept alive: without a time if there is none. */
  readonly result: { readonly TTL?: string };
}

/** A member of an etcd cluster that a test has started, on free ports of the loopback interface. */
export class EtcdServer extends TestServer {
  readonly name: string;
  readonly port: number = freePort();
  readonly peerPort: number = freePort();
  /** Where the other members reach it, if not at its own port. */
  reachedAt: number | undefined;
  /** The words of a command that starts its program, if that is not started as it is. */
  startedBy: readonly string[] = [];
  /** Where it keeps its data. */
  readonly directory: string;
  readonly #program: string;
  readonly #settings: readonly string[];

  /** Makes a member that is not started. */
  constructor(settings: readonly string[] = [], parent: string | undefined = undefined) {
    super();
    const found = findEtcd();
    if ("missing" in found) throw new Error(found.missing);
    this.#program = found.program;
    this.#settings = settings;
    this.name = crypto.randomUUID();
    this.directory = parent === undefined ? inMemory() : Deno.makeTempDirSync({ dir: parent, prefix: PREFIX });
  }

  /**
   * Starts a cluster of one member. Settings are those of its command line, such as `"--quota-backend-bytes=100000"`;
   * `parent` is where its folder is: in memory if it is left out.
   */
  static async start(settings: readonly string[] = [], parent: string | undefined = undefined): Promise<EtcdServer> {
    return await startedServer(() => new EtcdServer(settings, parent), (server) => server.start());
  }

  /** Where clients ask. */
  get url(): string {
    const isTls = this.#settings.some((setting) => setting.startsWith("--cert-file="));
    return `${isTls ? "https" : "http"}://127.0.0.1:${this.port}`;
  }

  /** Where the other members ask, and how a new member is added. */
  get peerUrl(): string {
    return `http://127.0.0.1:${this.reachedAt ?? this.peerPort}`;
  }

  /** The program of the client that comes with it. */
  get etcdctl(): string {
    return this.#program.replace(/etcd$/, "etcdctl");
  }

  /** Starts the process, among these members of a cluster that is new or not. */
  spawn(members: readonly EtcdServer[] = [this], state: "new" | "existing" = "new"): ServerProcess {
    const [program, ...words] = [...this.startedBy, this.#program];
    return this.process = new ServerProcess(program!, {
      args: [
        ...words,
        ...[`--name=${this.name}`, `--data-dir=${this.directory}/data`],
        ...[`--listen-client-urls=${this.url}`, `--advertise-client-urls=${this.url}`],
        ...[`--listen-peer-urls=http://127.0.0.1:${this.peerPort}`, `--initial-advertise-peer-urls=${this.peerUrl}`],
        `--initial-cluster=${members.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join()}`,
        ...[`--initial-cluster-token=${members[0]!.name}`, `--initial-cluster-state=${state}`],
        // By default, a check of a password computes for so long that a busy machine is late with its answer.
        "--bcrypt-cost=4",
        ...["--logger=zap", "--log-level=warn", `--log-outputs=${this.directory}/log`],
        ...this.#settings,
      ],
    });
  }

  /** Starts the process, and waits until it answers. */
  async start(members?: readonly EtcdServer[], state?: "new" | "existing"): Promise<void> {
    const process = this.spawn(members, state);
    for (const started = performance.now();;) {
      try {
        const { members } = await this.call("/v3/cluster/member/list");
        // Another process may have been quicker on that port.
        if (!members.some(({ name }: { name?: string }) => name === this.name)) throw new Error("another etcd answers");
        // Only with a leader, whoever the user is.
        await this.call("/v3/auth/authenticate", { name: "nobody", password: "wrong" }).catch((error: Error) => {
          if (!/not enabled|authentication failed/.test(error.message)) throw error;
        });
        return;
      } catch (error) {
        if (process.ended) throw new Error(`etcd has ended (${error}): ${await this.log()}`);
        if (performance.now() - started > HANG_MS) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  /** Calls a method of the JSON gateway. */
  async call(path: string, body: object = {}, token = ""): Promise<EtcdAnswer> {
    const headers = token === "" ? {} : { authorization: token };
    const late = AbortSignal.timeout(ANSWER_LIMIT_MS);
    const request = { method: "POST", body: JSON.stringify(body), signal: late, headers };
    const answer = await (await fetch(this.url + path, request)).json();
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  /** Returns a number that the server counts, such as `etcd_debugging_mvcc_watcher_total`. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const [, value] = new RegExp(`^${name} (.+)$`, "m").exec(text) ?? [];
    if (value === undefined) throw new Error(`etcd does not count ${name}`);
    return Number(value);
  }

  /** Returns whether it is the leader. */
  async leads(): Promise<boolean> {
    const { header, leader } = await this.call("/v3/maintenance/status");
    return header.member_id === leader;
  }

  /** Returns what it has logged. */
  log(): Promise<string> {
    return Deno.readTextFile(`${this.directory}/log`).catch(() => "");
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.directory, { recursive: true });
  }
}

/** How the members of a cluster are started. */
export interface EtcdClusterOptions {
  /** Makes a way to the port where one expects the others, and returns the port of that way. */
  readonly reached?: (peerPort: number) => Promise<number | undefined>;
  /** Where their folders are: in memory if it is left out. */
  readonly parent?: string;
  /** The words of a command that starts the program of a member. */
  readonly startedBy?: (member: EtcdServer) => readonly string[];
}

/** Several members that a test has started. */
export class EtcdCluster implements AsyncDisposable {
  readonly members: readonly EtcdServer[];

  private constructor(members: number, settings: readonly string[], parent?: string) {
    this.members = Array.from({ length: members }, () => new EtcdServer(settings, parent));
  }

  /** Starts a cluster with the settings of the command line of each member. */
  static async start(
    members = 3,
    settings: readonly string[] = [],
    { reached, parent, startedBy }: EtcdClusterOptions = {},
  ): Promise<EtcdCluster> {
    return await startedServer(() => new EtcdCluster(members, settings, parent), async (cluster) => {
      for (const member of cluster.members) {
        member.reachedAt = await reached?.(member.peerPort);
        member.startedBy = startedBy?.(member) ?? [];
      }
      await Promise.all(cluster.members.map((member) => member.start(cluster.members)));
    });
  }

  /** Where clients ask, one after the other. */
  get endpoints(): string[] {
    return this.members.map(({ url }) => url);
  }

  /** Returns the member that leads; rejects if none does. */
  async leader(): Promise<EtcdServer> {
    for (const member of this.members) if (await member.leads().catch(() => false)) return member;
    throw new Error("no member leads");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const member of this.members) await member[Symbol.asyncDispose]();
  }
}

/**
 * Makes a folder in memory, or on the disk where there is no such file system, or Deno does not open it without all
 * rights.
 */
function inMemory(): string {
  try {
    return Deno.makeTempDirSync({ dir: IN_MEMORY, prefix: PREFIX });
  } catch {
    return Deno.makeTempDirSync({ prefix: PREFIX });
  }
}
