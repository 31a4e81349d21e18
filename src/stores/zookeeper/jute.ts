import type { ZookeeperAcl, ZookeeperStat } from "./options.ts";

/** The initial room of a request, in bytes. */
const ROOM = 256;

/** The length of a node's `Stat` in bytes, and the positions of its fields. */
const STAT = { length: 68, czxid: 0, mzxid: 8, ctime: 16, mtime: 24, version: 32 } as const;

/** The largest acceptable answer, in bytes. */
const LARGEST_ANSWER = 2 ** 26;

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

/** Writes a request in the format of ZooKeeper (Jute): numbers of 4 and 8 bytes, texts and bytes after their length. */
export class JuteWriter {
  /** The next position. The length of the request comes first. */
  #at = 4;
  #bytes = new Uint8Array(ROOM);
  #view = new DataView(this.#bytes.buffer);

  int(value: number): this {
    const at = this.#take(4);
    this.#view.setInt32(at, value);
    return this;
  }

  long(value: bigint): this {
    const at = this.#take(8);
    this.#view.setBigInt64(at, value);
    return this;
  }

  flag(value: boolean): this {
    const at = this.#take(1);
    this.#view.setUint8(at, value ? 1 : 0);
    return this;
  }

  bytes(value: Uint8Array): this {
    this.int(value.length);
    const at = this.#take(value.length);
    this.#bytes.set(value, at);
    return this;
  }

  text(value: string): this {
    return this.bytes(ENCODER.encode(value));
  }

  list<T>(values: readonly T[], write: (value: T) => void): this {
    this.int(values.length);
    for (const value of values) write(value);
    return this;
  }

  acl(acl: readonly ZookeeperAcl[]): this {
    return this.list(acl, ({ permission, id }) => this.int(permission ?? 0).text(id.scheme).text(id.id));
  }

  /** Returns the request, after its length. */
  finish(): Uint8Array {
    this.#view.setInt32(0, this.#at - 4);
    return this.#bytes.subarray(0, this.#at);
  }

  /** Reserves room for the next value. Moves the written bytes if there is too little. */
  #take(length: number): number {
    const at = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#at);
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}

/** Reads an answer in Jute. Throws a `RangeError` where it is too short. */
export class JuteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  int(): number {
    return this.#view.getInt32(this.#take(4));
  }

  long(): bigint {
    return this.#view.getBigInt64(this.#take(8));
  }

  flag(): boolean {
    return this.#view.getUint8(this.#take(1)) !== 0;
  }

  /** Returns bytes; none for the length -1. */
  bytes(): Uint8Array {
    const length = Math.max(0, this.int());
    const at = this.#take(length);
    return this.#bytes.slice(at, at + length);
  }

  text(): string {
    return DECODER.decode(this.bytes());
  }

  list<T>(read: () => T): T[] {
    const found: T[] = [];
    for (let left = this.int(); left > 0; left--) found.push(read());
    return found;
  }

  acl(): ZookeeperAcl[] {
    return this.list(() => ({ permission: this.int(), id: { scheme: this.text(), id: this.text() } }));
  }

  stat(): ZookeeperStat {
    const at = this.#take(STAT.length);
    const long = (field: number) => this.#bytes.slice(at + field, at + field + 8);
    return {
      version: this.#view.getInt32(at + STAT.version),
      czxid: long(STAT.czxid),
      mzxid: long(STAT.mzxid),
      ctime: long(STAT.ctime),
      mtime: long(STAT.mtime),
    };
  }

  #take(length: number): number {
    const at = this.#at;
    if (length > this.#bytes.length - at) throw new RangeError("an answer of ZooKeeper is too short");
    this.#at += length;
    return at;
  }
}

/** Divides the bytes of a connection into answers, each of which comes after its length. */
export class JuteAnswers {
  #rest = new Uint8Array();

  /** Yields the answers that are complete with more bytes. Throws a `RangeError` for the length of none. */
  *with(more: Uint8Array): Generator<JuteReader> {
    const bytes = new Uint8Array(this.#rest.length + more.length);
    bytes.set(this.#rest);
    bytes.set(more, this.#rest.length);
    const view = new DataView(bytes.buffer);
    let at = 0;
    while (bytes.length - at >= 4) {
      const length = view.getInt32(at);
      if (length < 0 || length > LARGEST_ANSWER) throw new RangeError("an answer of ZooKeeper has no valid length");
      const end = at + 4 + length;
      if (bytes.length < end) break;
      yield new JuteReader(bytes.subarray(at + 4, end));
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }
}
