// Deno only: it starts processes of Deno on a terminal.
import { assert, assertEquals } from "@std/assert";
import { acquire, type Lock } from "@holdfast/lock";
import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { inTime } from "../../../../tests/support/in_time.ts";
import { HANG_MS, until } from "../../../../tests/support/until.ts";
import { withoutCoverage } from "../../../../tests/support/without_coverage.ts";

const PROGRAM = new URL("../../mod.ts", import.meta.url).pathname;

/** Codes that move the cursor, clear, or change the style. */
const CODES = new RegExp(String.fromCharCode(0x1b) + "\\[[\\d;]*[A-Za-z]", "g");

/** The program that gives a command a terminal is another one elsewhere. */
const LINUX = { ignore: Deno.build.os !== "linux" };

/** A command on a terminal of 80 × 12, in a directory with a lock `a` in the file `locks.db`. */
class Screen implements AsyncDisposable {
  /** What was written to the terminal. */
  text = "";
  readonly directory: string;
  readonly lock: Lock;
  readonly #store: SqliteStore;
  readonly #process: Deno.ChildProcess;
  readonly #keys: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #read: Promise<void>;

  private constructor(directory: string, store: SqliteStore, lock: Lock, command: string) {
    this.directory = directory;
    this.lock = lock;
    this.#store = store;
    const program = `${Deno.execPath()} run --quiet --allow-all ${PROGRAM}`;
    this.#process = new Deno.Command("script", {
      args: ["-qec", `stty cols 80 rows 12; exec ${command.replace("holdfast", program)}`, "/dev/null"],
      cwd: directory,
      clearEnv: true,
      env: { ...withoutCoverage(), HOLDFAST_STORE: "sqlite:locks.db", TERM: "xterm", NO_COLOR: "", SHELL: "/bin/sh" },
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#keys = this.#process.stdin.getWriter();
    this.#keys.closed.catch(() => {});
    this.#read = this.#readAll(this.#process.stdout);
  }

  static async start(command: string): Promise<Screen> {
    const directory = await Deno.makeTempDir({ prefix: "holdfast_cli_" });
    const store = sqlite(`${directory}/locks.db`);
    return new Screen(directory, store, await acquire(store, "a", { strict: false }), command);
  }

  async #readAll(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) this.text += text;
  }

  /** Resolves when a text has appeared. */
  async shows(text: string): Promise<void> {
    await until(() => this.text.includes(text), `${JSON.stringify(text)} in ${JSON.stringify(this.text)}`, HANG_MS);
  }

  /** Presses keys. */
  async type(keys: string): Promise<void> {
    await this.#keys.write(new TextEncoder().encode(keys));
  }

  /** Resolves to the exit status. */
  async status(): Promise<number> {
    const { code } = await inTime(this.#process.status, HANG_MS, "the command");
    await this.#read;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // It has ended.
    }
    await this.#process.status;
    await this.#keys.abort().catch(() => {});
    await this.#read;
    await this.lock.release().catch(() => {});
    this.#store.close();
    await Deno.remove(this.directory, { recursive: true });
  }
}

for (
  const [answer, gone] of [["y\n", true], ["YES\n", true], ["n\n", false], ["\n", false], ["\x04", false]] as const
) {
  const name = `holdfast evict asks on a terminal: ${JSON.stringify(answer)} ${gone ? "takes" : "leaves"} the lock`;
  Deno.test({ name, ...LINUX }, async () => {
    await using screen = await Screen.start("holdfast evict a");
    await screen.shows("Take a away? [y/N] ");
    assert(screen.text.includes("a is held by "), screen.text);
    await screen.type(answer);
    assertEquals(await screen.status(), gone ? 0 : 1, screen.text);
    assertEquals(screen.text.includes("Took a away from "), gone, screen.text);
    const lines = screen.text.split("\r\n");
    assertEquals(lines.filter((line) => line.startsWith("A holder is not stopped by that")).length, 1, "said once");
    assert(lines.some((line) => line.endsWith(" at once if it watches")), "broken between words");
    if (!gone) assert(lines.includes("holdfast: nothing was done"), screen.text);
    assertEquals(await screen.lock.extend().then(() => false, () => true), gone);
  });
}

Deno.test({ name: "holdfast evict does nothing when Ctrl-C answers its question", ...LINUX }, async () => {
  await using screen = await Screen.start("holdfast evict a");
  await screen.shows("[y/N] ");
  await screen.type("\x03");
  assertEquals(await screen.status(), 130, screen.text);
  assert(screen.text.endsWith("\r\n"), "the prompt of the shell begins a line");
  await screen.lock.extend();
});

Deno.test({ name: "holdfast ls has colours on a terminal only, unless NO_COLOR is set", ...LINUX }, async () => {
  const commands = { "holdfast ls": true, "holdfast ls --no-color": false, "NO_COLOR=1 holdfast ls": false };
  for (const [command, colours] of Object.entries(commands)) {
    await using screen = await Screen.start(command.replace("NO_COLOR", "env NO_COLOR"));
    assertEquals(await screen.status(), 0, screen.text);
    assertEquals(screen.text.includes("\x1b[1mNAME"), colours, command);
    assert(screen.text.includes("NAME"), screen.text);
  }
});

Deno.test({ name: "holdfast watch draws its table anew, within the terminal, until Ctrl-C", ...LINUX }, async () => {
  await using screen = await Screen.start("holdfast watch --interval 50ms");
  await screen.shows("1 held, 0 waiting");
  const store = sqlite(`${screen.directory}/locks.db`);
  const names = Array.from({ length: 30 }, (_, i) => `${i} ${"long ".repeat(40)}`);
  const locks = await Promise.all(names.map((name) => acquire(store, name)));
  await screen.shows("31 held, 0 waiting");
  await screen.shows("more: give a pattern");
  await screen.type("\x03");
  assertEquals(await screen.status(), 130);
  for (const lock of locks) await lock.release();
  store.close();
  const frames = screen.text.split("\x1b[H").slice(1);
  assert(frames.length >= 2, "it was drawn again");
  for (const frame of frames) {
    const lines = frame.replaceAll(CODES, "").split("\r\n");
    assert(lines.length <= 12, `${lines.length} lines:\n${frame}`);
    assert(lines.every((line) => line.replace("^C", "").length <= 80), frame);
  }
});
