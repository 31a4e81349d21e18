import { codeOf, NO_NODE, NODE_EXISTS, ZookeeperFault } from "./failures.ts";
import type { JuteReader, JuteWriter } from "./jute.ts";
import type { ZookeeperAcl, ZookeeperDone, ZookeeperRequests, ZookeeperStat, ZookeeperTransaction } from "./options.ts";
import type { SentWatch } from "./sent_watches.ts";

/** The codes of requests. */
const CREATE = 1;
const DELETE = 2;
const EXISTS = 3;
const GET_DATA = 4;
const SET_DATA = 5;
const GET_ACL = 6;
const GET_CHILDREN = 8;
const MULTI = 14;

/** The code of a part of a transaction that was not executed. */
const FAILED = -1;

/** The code of a part that has failed because of another part. */
const INCONSISTENT = -2;

/** The permissions of a node for everybody: all. */
const OPEN: ZookeeperAcl[] = [{ permission: 31, id: { scheme: "world", id: "anyone" } }];

/** Sends a request, and calls a function with the error or the answer. */
export type SendRequest = (
  type: number,
  write: (body: JuteWriter) => void,
  done: (error: unknown, answer: JuteReader) => void,
) => void;

/** The requests for nodes, as the server takes them. */
export class NodeRequests implements ZookeeperRequests {
  readonly #chroot: string;
  readonly #send: SendRequest;
  /** Called when a watch is set, before the server can report that it fires. */
  readonly #watched: (watch: SentWatch) => void;

  constructor(chroot: string, send: SendRequest, watched: (watch: SentWatch) => void) {
    this.#chroot = chroot;
    this.#send = send;
    this.#watched = watched;
  }

  getData(path: string, done: ZookeeperDone<[data: Uint8Array | undefined, stat: ZookeeperStat]>): void {
    this.#ask(GET_DATA, path, done, (body) => body.flag(false), (answer) => [answer.bytes(), answer.stat()]);
  }

  exists(path: string, watcher: () => void, done: ZookeeperDone<[stat: ZookeeperStat | null]>): void {
    const full = this.#chroot + path;
    this.#send(EXISTS, (body) => body.text(full).flag(true), (error, answer) => {
      const isThere = codeOf(error) !== NO_NODE;
      if (error !== undefined && isThere) return done(error, null);
      this.#watched({ path: full, isThere, fire: watcher });
      done(undefined, isThere ? answer.stat() : null);
    });
  }

  getChildren(path: string, done: ZookeeperDone<[names: readonly string[]]>): void {
    this.#ask(GET_CHILDREN, path, done, (body) => body.flag(false), (answer) => [answer.list(() => answer.text())]);
  }

  getACL(path: string, done: ZookeeperDone<[acl: ZookeeperAcl[]]>): void {
    this.#ask(GET_ACL, path, done, () => {}, (answer) => [answer.acl()]);
  }

  create(path: string, data: Uint8Array, acl: ZookeeperAcl[], done: ZookeeperDone): void {
    this.#ask(CREATE, path, done, (body) => body.bytes(data).acl(acl).int(0), () => []);
  }

  mkdirp(path: string, done: ZookeeperDone): void {
    const ends = [...path.matchAll(/(?<=[^/])(?=\/|$)/g)].map(({ index }) => index);
    const make = ([end, ...rest]: readonly number[]) => {
      this.create(path.slice(0, end), new Uint8Array(), OPEN, (error) => {
        if (error !== undefined && codeOf(error) !== NODE_EXISTS) done(error);
        else if (rest.length > 0) make(rest);
        else done(undefined);
      });
    };
    make(ends);
  }

  setData(path: string, data: Uint8Array, version: number, done: ZookeeperDone<[stat: ZookeeperStat]>): void {
    this.#ask(SET_DATA, path, done, (body) => body.bytes(data).int(version), (answer) => [answer.stat()]);
  }

  remove(path: string, version: number, done: ZookeeperDone): void {
    this.#ask(DELETE, path, done, (body) => body.int(version), () => []);
  }

  transaction(): ZookeeperTransaction {
    const parts: ((body: JuteWriter) => void)[] = [];
    const add = (type: number, path: string, write: (body: JuteWriter) => void) => {
      parts.push((body) => write(body.int(type).flag(false).int(-1).text(this.#chroot + path)));
    };
    return {
      remove: (path, version) => add(DELETE, path, (body) => body.int(version)),
      create: (path, data, acl) => add(CREATE, path, (body) => body.bytes(data).acl(acl).int(0)),
      commit: (done) => {
        const write = (body: JuteWriter) => {
          for (const part of parts) part(body);
          body.int(-1).flag(true).int(-1);
        };
        this.#send(MULTI, write, (error, answer) => done(error ?? faultOfParts(answer)));
      },
    };
  }

  /** Sends a request for a node, and passes on the parsed answer, or the error alone. */
  #ask<Results extends readonly unknown[]>(
    type: number,
    path: string,
    done: ZookeeperDone<Results>,
    write: (body: JuteWriter) => void,
    read: (answer: JuteReader) => [...Results],
  ): void {
    this.#send(type, (body) => write(body.text(this.#chroot + path)), (error, answer) => {
      done(error, ...error === undefined ? read(answer) : [] as unknown as [...Results]);
    });
  }
}

/** Returns the error of a transaction that was not executed; the answer has an error for each part. */
function faultOfParts(answer: JuteReader): ZookeeperFault | undefined {
  let fault: ZookeeperFault | undefined;
  for (;;) {
    const type = answer.int();
    const isEnd = answer.flag();
    answer.int();
    if (isEnd) return fault;
    if (type === CREATE) answer.text();
    if (type !== FAILED) continue;
    const code = answer.int();
    if (code !== 0 && code !== INCONSISTENT) fault ??= new ZookeeperFault(code, "a transaction");
  }
}
