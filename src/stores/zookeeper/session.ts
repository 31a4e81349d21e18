import type { Socket } from "node:net";
import { StoreError } from "../../contract/errors.ts";
import { type Clock, type Instant, monotonicMs, SystemClock, type Timer } from "../../time/clock.ts";
import { answerTo, CONNECT_MS, SILENT_MS, whenConnected } from "./calls.ts";
import { AUTH_FAILED, CONNECTION_LOSS, failureOf, ZookeeperFault } from "./failures.ts";
import { JuteAnswers, JuteReader, JuteWriter } from "./jute.ts";
import type { ZookeeperDone, ZookeeperRequests } from "./options.ts";
import { NodeRequests, type SendRequest } from "./requests.ts";
import { SentWatches, SET_WATCHES } from "./sent_watches.ts";
import { socketsHere, type ZookeeperAddress } from "./servers.ts";

/** How long a session outlives its connection (nothing depends on it), and how often to ping, in milliseconds. */
const SESSION_MS = 15_000;
const PING_MS = 5_000;

/** How long making a connection may take, in milliseconds. Then the next server is tried. */
const OPEN_MS = 1_000;

/** How long an unused connection is kept, in milliseconds. */
const IDLE_MS = 30_000;

/** The pause before the next server is tried, in milliseconds. */
const PAUSE_MS = 100;

/** The codes of the requests that keep a connection. */
const SYNC = 9;
const PING = 11;
const AUTH = 100;
const CLOSE = -11;

/** The numbers of requests and answers outside the sequence of requests. */
const EVENT_XID = -1;
const PING_XID = -2;
const AUTH_XID = -4;
const WATCHES_XID = -8;

/** The limit of the numbers of requests, which have 32 bits with a sign. */
const XIDS = 2 ** 31;

interface SentRequest {
  readonly xid: number;
  readonly done: Parameters<SendRequest>[2];
}

const NOTHING = new JuteReader(new Uint8Array());

/**
 * A connection to one of several servers, made when it is needed. No node depends on its session, so each connection
 * has a new session: none has to be kept alive, and none can expire. Watches are set again.
 */
export class ZookeeperSession {
  readonly closed = false;
  readonly #net: typeof import("node:net");
  readonly #address: ZookeeperAddress;
  readonly #clock: Clock;
  #next: number;
  #socket: Socket | undefined;
  #isOpen = false;
  /** Called when the connection is open, or has failed for good. */
  readonly #changed = new Set<() => void>();
  readonly #sent: SentRequest[] = [];
  #xid = 0;
  /** The number of the last seen transaction: no server that is behind it takes the connection. */
  #zxid = 0n;
  readonly #watches = new SentWatches();
  readonly #requests: ZookeeperRequests;
  #answers = new JuteAnswers();
  #heardAt: Instant;
  #usedAt: Instant;
  /** How many calls and waiters keep the process alive. */
  #users = 0;
  #refused: unknown;
  #timer: Timer | undefined;
  /** Ends the pause before the next connection. */
  #pause: AbortController | undefined;

  /**
   * Creates the session. Sends nothing before the first call.
   *
   * @throws {StoreError} when this runtime has no sockets
   */
  constructor(address: ZookeeperAddress, clock: Clock = new SystemClock(), random = Math.random) {
    this.#net = socketsHere();
    this.#address = address;
    this.#clock = clock;
    this.#next = Math.floor(random() * address.servers.length);
    this.#heardAt = this.#usedAt = clock.now();
    const send: SendRequest = (type, write, done) => this.#send(type, write, done);
    this.#requests = new NodeRequests(address.chroot, send, (watch) => this.#watches.add(watch));
  }

  /** Ends the connection. The next call makes another. */
  end(): void {
    if (this.#isOpen) this.#write(0, CLOSE, () => {});
    this.#socket?.end();
    this.#lose(this.#socket);
    this.#pause?.abort("over");
  }

  bufferOf(text: string): Uint8Array {
    return new TextEncoder().encode(text);
  }

  /** Keeps the process alive, and the connection open, until the returned function is called. */
  use(): () => void {
    if (this.#users++ === 0) this.#socket?.ref();
    return () => {
      this.#usedAt = this.#clock.now();
      if (--this.#users === 0) this.#socket?.unref();
    };
  }

  /** Makes the server catch up with the leader. It is sent just before a read, which need not wait for the answer. */
  async sync(): Promise<void> {
    await this.call<[]>((_, done) => this.#send(SYNC, (body) => body.text("/"), (error) => done(error)));
  }

  /** Sends a request, once it is connected, and resolves to the answer. Rejects when the signal aborts. */
  async call<Results extends readonly unknown[]>(
    send: (client: ZookeeperRequests, done: ZookeeperDone<Results>) => void,
    signal?: AbortSignal,
  ): Promise<Results> {
    const end = this.use();
    try {
      if (!this.#isOpen) await this.#opened(signal);
      const socket = this.#socket;
      const late = () => {
        this.#lose(socket);
        return new Error(`no answer from ZooKeeper within ${SILENT_MS} ms`);
      };
      return await answerTo((done) => send(this.#requests, done), failureOf, { clock: this.#clock, signal, late });
    } finally {
      end();
    }
  }

  #send(type: number, write: (body: JuteWriter) => void, done: SentRequest["done"]): void {
    if (!this.#isOpen) return done(new ZookeeperFault(CONNECTION_LOSS, "nothing was sent"), NOTHING);
    const xid = this.#xid = (this.#xid + 1) % XIDS;
    this.#sent.push({ xid, done });
    this.#write(xid, type, write);
  }

  #write(xid: number, type: number, write: (body: JuteWriter) => void): void {
    const body = new JuteWriter().int(xid).int(type);
    write(body);
    this.#socket!.write(body.finish());
  }

  #opened(signal?: AbortSignal): Promise<void> {
    const look = () => {
      if (this.#refused !== undefined) throw failureOf(this.#refused);
      return this.#isOpen;
    };
    const late = () => {
      const which = this.#address.servers.map(({ host, port }) => `${host}:${port}`).join();
      return new StoreError(`No server of ZooKeeper has taken a connection for ${CONNECT_MS} ms: ${which}`);
    };
    this.#open();
    return whenConnected(look, this.#changed, { clock: this.#clock, signal, late });
  }

  /** Connects to the next server, unless it is connecting already. */
  #open(): void {
    this.#pause?.abort("over");
    if (this.#socket !== undefined || this.#refused !== undefined) return;
    const { servers } = this.#address;
    const { host, port } = servers[this.#next++ % servers.length]!;
    const socket = this.#socket = this.#net.connect({ host, port, noDelay: true });
    if (this.#users === 0) socket.unref();
    this.#answers = new JuteAnswers();
    socket.on("connect", () => {
      const request = new JuteWriter().int(0).long(this.#zxid).int(SESSION_MS).long(0n).bytes(new Uint8Array(16));
      socket.write(request.flag(false).finish());
    });
    socket.on("data", (data: Uint8Array) => {
      if (socket === this.#socket) this.#receive(data);
    });
    // An error is followed by the end.
    socket.on("error", () => {});
    socket.on("close", () => this.#lose(socket));
    this.#watchOver(socket, OPEN_MS);
  }

  /** Pings the server, ends a silent connection, and ends an unused connection. */
  #watchOver(socket: Socket, ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(ms, () => {
      const now = this.#clock.now();
      if (!this.#isOpen || monotonicMs(this.#heardAt, now) > PING_MS + SILENT_MS) return this.#lose(socket);
      if (this.#users === 0 && monotonicMs(this.#usedAt, now) > IDLE_MS) return this.end();
      this.#write(PING_XID, PING, () => {});
      this.#watchOver(socket, PING_MS);
    });
  }

  /** Ends a connection. Makes another if there are calls or waiters. */
  #lose(socket: Socket | undefined): void {
    if (socket === undefined || socket !== this.#socket) return;
    this.#timer?.cancel();
    if (socket.writableEnded) socket.destroySoon();
    else socket.destroy();
    this.#socket = undefined;
    this.#isOpen = false;
    this.#fail(new ZookeeperFault(CONNECTION_LOSS, "the answer is lost"));
    if (this.#users > 0) void this.#openSoon();
  }

  #fail(fault: unknown): void {
    for (const { done } of this.#sent.splice(0)) done(fault, NOTHING);
  }

  /** Connects again after a pause, if there are calls or waiters then. */
  async #openSoon(): Promise<void> {
    const pause = this.#pause = new AbortController();
    await this.#clock.sleep(PAUSE_MS, pause.signal);
    if (!pause.signal.aborted && this.#users > 0) this.#open();
  }

  #receive(data: Uint8Array): void {
    const socket = this.#socket;
    try {
      for (const answer of this.#answers.with(data)) {
        this.#read(answer);
        // What was called may have ended it.
        if (this.#socket !== socket) return;
      }
    } catch {
      this.#lose(socket);
    }
  }

  #read(answer: JuteReader): void {
    this.#heardAt = this.#clock.now();
    if (!this.#isOpen) return this.#begin(answer);
    const xid = answer.int();
    const zxid = answer.long();
    const code = answer.int();
    if (zxid > this.#zxid) this.#zxid = zxid;
    if (xid === EVENT_XID) {
      answer.int();
      answer.int();
      return this.#watches.fire(answer.text());
    }
    if (xid === AUTH_XID && code !== 0) return this.#refuse(new ZookeeperFault(AUTH_FAILED, "the authentication"));
    if (xid < 0) return;
    const request = this.#sent.shift();
    if (request?.xid !== xid) throw new Error("an answer of ZooKeeper is out of order");
    request.done(code === 0 ? undefined : new ZookeeperFault(code, `request ${xid}`), answer);
  }

  /** Begins a session on an accepted connection. */
  #begin(answer: JuteReader): void {
    answer.int();
    // A server that refuses the session gives it no time.
    if (answer.int() <= 0) return this.#lose(this.#socket);
    this.#isOpen = true;
    const { auth } = this.#address;
    if (auth !== undefined) {
      this.#write(AUTH_XID, AUTH, (body) => body.int(0).text("digest").bytes(new TextEncoder().encode(auth)));
    }
    this.#setWatches();
    this.#watchOver(this.#socket!, PING_MS);
    for (const run of [...this.#changed]) run();
  }

  /** Sets the watches again. The server reports at once the changes since the last seen transaction. */
  #setWatches(): void {
    for (const isThere of [true, false]) {
      for (const paths of this.#watches.paths(isThere)) {
        const lists = isThere ? [paths, [], []] : [[], paths, []];
        this.#write(WATCHES_XID, SET_WATCHES, (body) => {
          body.long(this.#zxid);
          for (const list of lists) body.list(list, (path) => body.text(path));
        });
      }
    }
  }

  /** Ends the connection for good: the servers do not accept the login. */
  #refuse(fault: unknown): void {
    this.#refused = fault;
    this.#fail(fault);
    this.#lose(this.#socket);
    for (const run of [...this.#changed]) run();
  }
}
