import { connect } from "node:net";
import type { Store } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import type { ZookeeperAcl, ZookeeperClient, ZookeeperDone, ZookeeperStat } from "@holdfast/lock/zookeeper";
import { elapsed, SystemClock } from "../time/clock.ts";
import { within } from "../time/within.ts";
import type { Examined, Patient } from "./examination.ts";
import { error, type Finding, ok, verdicts, warning } from "./finding.ts";
import { ANSWER_MS, unreachable } from "./unreachable.ts";

const CLOCK = new SystemClock();

/** The difference between clocks, in milliseconds, from which listings are worth little. */
const SKEW_MS = 10_000;

const judged = verdicts({
  "client": {
    ok: ["A silent server is left, an expired session is replaced, and reads come after a sync."],
    warning: [
      "A silent server is not left, an expired session closes the store, and tryAcquire may be told what was.",
      "Install node-zookeeper-client 1.1.",
    ],
  },
  "auth": {
    ok: ["Others cannot take locks away."],
    warning: [
      "Everybody who reaches the servers can take locks away, and remove them.",
      "Give the node an access control list; those of the locks that are made later have the same one.",
    ],
  },
  "clock": {
    ok: ["The clocks agree."],
    warning: [
      "Listings show leases as longer or shorter than they are, and fences are ahead of the time. No lock is granted by these clocks.",
      "Synchronize the clocks of all machines (NTP).",
    ],
  },
  "wake-up": {
    ok: ["Waiters are woken."],
    warning: ["Waiters look only every 5 s.", "Look at the load of the servers."],
  },
});

/** Codes of errors. */
const NO_NODE = -101;
const NO_AUTH = -102;

/** The part of the client that doctor uses beyond the store's. */
export interface ExaminedZookeeper extends ZookeeperClient {
  getSessionId(): Uint8Array & { readonly constructor: { from(text: string): Uint8Array } };
  readonly connectionManager?: object;
}

/** Further knowledge of the ensemble. */
export interface ZookeeperServers {
  readonly store: Store;
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  readonly chroot: string;
  readonly path: string;
  /** Closes the client. */
  close(): Promise<void>;
}

/** Returns an ensemble of ZooKeeper, to examine it. */
export function zookeeperPatient(client: ExaminedZookeeper, servers: ZookeeperServers): Patient {
  return {
    store: servers.store,
    advice: {
      failed: (message) => /NO_AUTH|ADMIN/.test(message) ? rightsAdvice(servers) : undefined,
      unwoken: "Look at the load of the servers, and at the time that they take to write to their disks.",
    },
    examine: () => examineEnsemble(client, servers),
    remove: async (name) => {
      const { nodeOf } = await import("@holdfast/lock/zookeeper");
      const node = `${servers.path}/${await nodeOf(name)}`;
      const [, { version }] = await answerTo<[unknown, ZookeeperStat]>((done) => client.getData(node, done));
      await answerTo((done) => client.remove(node, version, done));
    },
    [Symbol.asyncDispose]: servers.close,
  };
}

/** Sends a request, and resolves to its answer. */
export function answerTo<Results extends readonly unknown[] = []>(
  send: (done: ZookeeperDone<Results>) => void,
): Promise<Results> {
  const answer = new Promise<Results>((resolve, reject) => {
    send((fault, ...results) => fault ? reject(fault) : resolve(results));
  });
  return within(ANSWER_MS, answer, CLOCK);
}

async function examineEnsemble(client: ExaminedZookeeper, servers: ZookeeperServers): Promise<Examined> {
  const quorum = judgeModes(await Promise.all(servers.addresses.map(modeOf)));
  try {
    // Connects, with a limit.
    await within(ANSWER_MS, servers.store.query!({ limit: 1 }), CLOCK);
    await answerTo((done) => client.mkdirp(servers.path, done)).catch(async (fault) => {
      // A user who may not make the nodes above it may use the present node.
      if (codeOf(fault) !== NO_AUTH || await isMissing(client, servers.path)) throw fault;
    });
    const [acl] = await answerTo<[ZookeeperAcl[]]>((done) => client.getACL(servers.path, done));
    const node = await examineNode(client, servers, acl);
    return { findings: [quorum, judgeClient(client), judgeAcl(acl, servers), ...node] };
  } catch (fault) {
    return { findings: [quorum, judgeFault(fault, servers)], futile: true };
  }
}

async function isMissing(client: ExaminedZookeeper, path: string): Promise<boolean> {
  const [stat] = await answerTo<[object | null]>((done) => client.exists(path, () => {}, done));
  return stat === null;
}

function judgeFault(fault: unknown, servers: ZookeeperServers): Finding {
  const code = codeOf(fault);
  if (code === NO_NODE) return unreachable(servers.store, fault, `the chroot ${servers.chroot} does not exist`);
  if (code === NO_AUTH || /NO_AUTH/.test(reason(fault))) {
    return error("rights", reason(fault), "Programs with this user cannot acquire locks.", rightsAdvice(servers));
  }
  return unreachable(servers.store, fault);
}

function rightsAdvice({ path, chroot }: ZookeeperServers): string {
  return `Give the user READ, WRITE, CREATE, DELETE and ADMIN: setAcl ${chroot}${path} auth:USER:PASSWORD:cdrwa.`;
}

function judgeClient({ connectionManager }: ExaminedZookeeper): Finding {
  const known = ["state", "queue", "sessionId", "sessionPassword"].every((key) => key in (connectionManager ?? {}));
  const found = `node-zookeeper-client, ${known ? "whose inside is" : "but its inside is not"} as in release 1.1`;
  return judged("client", known ? "ok" : "warning", found);
}

/** Judges the access rights of the node with the locks. */
function judgeAcl(acl: readonly ZookeeperAcl[], { path, chroot }: ZookeeperServers): Finding {
  const found = `${chroot}${path} is for ${acl.map(({ id }) => `${id.scheme}:${id.id.replace(/:.*/, "")}`).join(", ")}`;
  return judged("auth", acl.some(({ id }) => id.scheme === "world") ? "warning" : "ok", found);
}

/** Examines a node of its own: whether it can be written, the leader's time, and whether watches fire. */
async function examineNode(
  client: ExaminedZookeeper,
  { path }: ZookeeperServers,
  acl: ZookeeperAcl[],
): Promise<Finding[]> {
  // No lock is called like this.
  const node = `${path}/holdfast doctor ${crypto.randomUUID()}`;
  const data = client.getSessionId();
  await answerTo((done) => client.create(node, data, acl, done));
  try {
    let fired = () => {};
    const told = new Promise<void>((resolve) => fired = resolve);
    await answerTo<[object | null]>((done) => client.exists(node, fired, done));
    const sent = CLOCK.now();
    const [stat] = await answerTo<[object]>((done) => client.setData(node, data, 0, done));
    const trip = elapsed(sent, CLOCK.now());
    const { mtime } = stat as { readonly mtime: Uint8Array };
    const ms = Number(new DataView(mtime.buffer, mtime.byteOffset, 8).getBigInt64(0)) - (sent.wall + trip / 2);
    return [
      judgeClock(ms, trip / 2),
      judgeWatch(await within(ANSWER_MS, told, CLOCK).then(() => true, () => false)),
    ];
  } finally {
    // Without an answer it stays: a node that no program looks at.
    await answerTo((done) => client.remove(node, 1, done)).catch(() => {});
  }
}

function judgeClock(ms: number, uncertainty: number): Finding {
  const found =
    `the leader's clock is ${Math.abs(Math.round(ms))} ms ${ms < 0 ? "behind" : "ahead of"} this machine's, ` +
    `± ${Math.ceil(uncertainty)} ms`;
  return judged("clock", Math.abs(ms) - uncertainty < SKEW_MS ? "ok" : "warning", found);
}

function judgeWatch(hasFired: boolean): Finding {
  if (hasFired) return judged("wake-up", "ok", "a watch has fired");
  return judged("wake-up", "warning", `a watch has not fired within ${ANSWER_MS / 1_000} s`);
}

/** Returns the mode that a server reports, such as `leader` or `standalone`; else its fault. */
async function modeOf({ host, port }: { readonly host: string; readonly port: number }): Promise<string> {
  const socket = connect(port, host, () => socket.write("srvr")).setEncoding("utf8");
  const answer = new Promise<string>((resolve) => {
    let text = "";
    socket.on("data", (part: string) => text += part);
    socket.on("error", (fault) => resolve(reason(fault)));
    socket.on("close", () => resolve(/^Mode: (\w+)$/m.exec(text)?.[1] ?? (text.split("\n")[0] || "no answer")));
  });
  try {
    return await within(ANSWER_MS, answer, CLOCK);
  } catch {
    return "no answer";
  } finally {
    socket.destroy();
  }
}

/** Judges the modes of the servers of the URL. */
export function judgeModes(modes: readonly string[]): Finding {
  const isSilent = (mode: string) => /whitelist/.test(mode);
  const healthy = modes.filter((mode) => /^(leader|follower|observer|standalone)$/.test(mode));
  const sick = modes.filter((mode) => !healthy.includes(mode));
  const found = `${healthy.length} of ${modes.length} servers serve clients: ${modes.join(", ")}`;
  if (sick.some((mode) => !isSilent(mode))) {
    return warning("quorum", found, "If more servers fail, nobody can acquire locks.", "Look at these servers.");
  }
  if (sick.length > 0) {
    const advice = "Set 4lw.commands.whitelist=srvr on the servers.";
    return warning("quorum", found, "It is not known how many servers may fail.", advice);
  }
  if (healthy.includes("standalone")) {
    const meaning = "No other server has the locks: they are lost with this one.";
    return warning("quorum", found, meaning, "Use three servers, and name them all in the URL.");
  }
  const isEven = modes.length % 2 === 0;
  if (!isEven && modes.length > 1) return ok("quorum", found, `${(modes.length - 1) / 2} of them may fail.`);
  return warning(
    "quorum",
    found,
    isEven ? "An even number of servers survives no more failures than one less." : "The others are not known here.",
    "Use an odd number of servers, three at least, and name them all in the URL.",
  );
}

function codeOf(fault: unknown): number | undefined {
  return (Object(fault) as { readonly code?: number }).code;
}
