/** The time between reading and writing, in which another worker may write. */
const PAUSE_MS = 2;

/** Every number is written with this width, so that no reader sees a part of one. */
const WIDTH = 10;

/** A number in a file that several processes share. Only a lock keeps them from writing at the same time. */
export class Counter implements Disposable {
  readonly #file: Deno.FsFile;

  /** Opens the file, which must exist. */
  constructor(path: string) {
    this.#file = Deno.openSync(path, { read: true, write: true });
  }

  /** Creates the file, or sets its number to 0. */
  static reset(path: string): void {
    Deno.writeTextFileSync(path, encode(0));
  }

  /** Reads the number. */
  get(): number {
    const bytes = new Uint8Array(WIDTH);
    this.#file.seekSync(0, Deno.SeekMode.Start);
    this.#file.readSync(bytes);
    return Number(new TextDecoder().decode(bytes));
  }

  /** Reads it, adds one and writes it back: three steps. Returns the new number. */
  async raise(): Promise<number> {
    const value = this.get() + 1;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
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
