/** How long a worker thinks between reading and writing, in milliseconds: somebody else may write meanwhile. */
const THOUGHT = 2;

/** As wide as every number that is written: nobody ever reads a file that is half empty. */
const WIDTH = 10;

/** A number in a file that several processes share. Nothing but a lock keeps them apart. */
export class Counter implements Disposable {
  readonly #file: Deno.FsFile;

  /** Opens the file, which must exist. */
  constructor(path: string) {
    this.#file = Deno.openSync(path, { read: true, write: true });
  }

  /** Makes the file, or begins anew in it. */
  static reset(path: string): void {
    Deno.writeTextFileSync(path, encode(0));
  }

  /** What the counter says. */
  get(): number {
    const bytes = new Uint8Array(WIDTH);
    this.#file.seekSync(0, Deno.SeekMode.Start);
    this.#file.readSync(bytes);
    return Number(new TextDecoder().decode(bytes));
  }

  /** Reads it, adds one and writes it back: three steps. Gives what was written. */
  async raise(): Promise<number> {
    const value = this.get() + 1;
    await new Promise((resolve) => setTimeout(resolve, THOUGHT));
    this.#file.seekSync(0, Deno.SeekMode.Start);
    this.#file.writeSync(new TextEncoder().encode(encode(value)));
    return value;
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

function encode(value: number): string {
  return String(value).padStart(WIDTH);
}
