import { findProgram, type Found } from "./debian_programs.ts";
import { inTime } from "./in_time.ts";
import { lines } from "./lines.ts";
import { until } from "./until.ts";
import { withoutCoverage } from "./without_coverage.ts";

/** How long the browser may take to start, and to answer, on a busy machine, in milliseconds. */
const LIMIT_MS = 60_000;

/** Finds a Chromium: the one that CHROMIUM names, or one in the PATH. */
export function findChromium(): Found {
  const found = ["chromium", "chromium-browser", "google-chrome"].map((name) => findProgram(name, "CHROMIUM"));
  return found.find((each) => "program" in each) ?? found[0]!;
}

/** What the browser sends: the answer to a command, or an event. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
  readonly sessionId?: string;
}

type Listener = (method: string, params: Record<string, unknown>) => void;

/** A connection to a browser over its DevTools protocol. */
class Connection {
  readonly #socket: WebSocket;
  readonly #closed: Promise<void>;
  readonly #commands = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  readonly #listeners = new Map<string, Listener>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.addEventListener("close", () => resolve()));
    socket.addEventListener("message", ({ data }) => this.#take(JSON.parse(data)));
  }

  static open(url: string): Promise<Connection> {
    const socket = new WebSocket(url);
    return new Promise((resolve, reject) => {
      socket.addEventListener("open", () => resolve(new Connection(socket)));
      socket.addEventListener("error", () => reject(new Error(`cannot connect to ${url}`)));
    });
  }

  /** Sends a command, and resolves to its result. */
  send(method: string, params: object, sessionId?: string): Promise<Record<string, unknown>> {
    const id = ++this.#lastId;
    const command = Promise.withResolvers<Record<string, unknown>>();
    this.#commands.set(id, command);
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    return inTime(command.promise, LIMIT_MS, method);
  }

  /** Calls a function with the events of a session. */
  listen(sessionId: string, listener: Listener): void {
    this.#listeners.set(sessionId, listener);
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.#socket.close();
    await this.#closed;
  }

  #take({ id, method, params = {}, result = {}, error, sessionId = "" }: Message): void {
    if (method !== undefined) return this.#listeners.get(sessionId)?.(method, params);
    const command = this.#commands.get(id ?? 0);
    this.#commands.delete(id ?? 0);
    if (error === undefined) command?.resolve(result);
    else command?.reject(new Error(error.message));
  }
}

/** A headless browser that a test has started. */
export class Chromium implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #connection: Connection;
  readonly #directory: string;
  readonly #output: Promise<void>;

  private constructor(process: Deno.ChildProcess, connection: Connection, directory: string, output: Promise<void>) {
    this.#process = process;
    this.#connection = connection;
    this.#directory = directory;
    this.#output = output;
  }

  /** Starts the program. */
  static async start(program: string): Promise<Chromium> {
    const directory = Deno.makeTempDirSync({ prefix: "holdfast_chromium_" });
    const process = new Deno.Command(program, {
      args: [
        ...["--headless", "--remote-debugging-port=0", `--user-data-dir=${directory}`, "--no-first-run"],
        ...[
          "--disable-gpu",
          "--disable-dev-shm-usage",
          "--disable-background-networking",
          "--disable-component-update",
        ],
        // Its sandbox does not run as root; what is shown comes from this test.
        ...["--no-sandbox", "--force-device-scale-factor=1", "about:blank"],
      ],
      clearEnv: true,
      env: { ...withoutCoverage(), HOME: directory },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const address = Promise.withResolvers<string>();
    const output = (async () => {
      for await (const line of lines(process.stderr)) {
        const url = /^DevTools listening on (ws:\S+)/.exec(line.trim())?.[1];
        if (url !== undefined) address.resolve(url);
      }
      address.reject(new Error("the browser ended"));
    })();
    address.promise.catch(() => {});
    try {
      const connection = await Connection.open(await inTime(address.promise, LIMIT_MS, "the start of the browser"));
      return new Chromium(process, connection, directory, output);
    } catch (error) {
      await ended(process, output, directory);
      throw error;
    }
  }

  /** Makes a profile: its tabs have no cookies and no cache of other ones. */
  async profile(): Promise<Profile> {
    const { browserContextId } = await this.#connection.send("Target.createBrowserContext", {});
    return new Profile(this.#connection, String(browserContextId));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.send("Browser.close", {}).catch(() => {});
    await this.#connection.close();
    await ended(this.#process, this.#output, this.#directory);
  }
}

/** A user of a browser, as if it had just been started. */
export class Profile implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #id: string;

  /** Takes a context of a browser. */
  constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.#id = id;
  }

  /** Opens a tab. */
  async open(): Promise<Tab> {
    const target = { url: "about:blank", browserContextId: this.#id };
    const { targetId } = await this.#connection.send("Target.createTarget", target);
    const { sessionId } = await this.#connection.send("Target.attachToTarget", { targetId, flatten: true });
    return await Tab.make(this.#connection, String(sessionId));
  }

  /** Closes its tabs. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.send("Target.disposeBrowserContext", { browserContextId: this.#id });
  }
}

async function ended(process: Deno.ChildProcess, output: Promise<void>, directory: string): Promise<void> {
  const timer = setTimeout(() => process.kill("SIGKILL"), 5_000);
  await process.status;
  clearTimeout(timer);
  await output;
  // The last of its processes may still be writing.
  await until(
    async () => await Deno.remove(directory, { recursive: true }).then(() => true, () => false),
    "it is gone",
  );
}

/** The keys that a test presses, by their names. */
const KEYS = {
  Tab: { code: "Tab", windowsVirtualKeyCode: 9 },
  Space: { key: " ", code: "Space", windowsVirtualKeyCode: 32, text: " " },
  ArrowDown: { code: "ArrowDown", windowsVirtualKeyCode: 40 },
  Enter: { code: "Enter", windowsVirtualKeyCode: 13, text: "\r" },
} as const;

/** A part of a window, in pixels. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A tab of a browser, and what it has asked for and complained about. */
export class Tab {
  /** The addresses that it has asked for. */
  readonly requests: string[] = [];
  /** What its console says: exceptions, violations of policies, what scripts write. */
  readonly complaints: string[] = [];
  readonly #connection: Connection;
  readonly #session: string;

  private constructor(connection: Connection, session: string) {
    this.#connection = connection;
    this.#session = session;
  }

  /** Takes a session that is attached to a tab. */
  static async make(connection: Connection, session: string): Promise<Tab> {
    const tab = new Tab(connection, session);
    connection.listen(session, (method, params) => tab.#note(method, params));
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await tab.send(`${domain}.enable`);
    return tab;
  }

  /** Sends a command of the DevTools protocol. */
  send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    return this.#connection.send(method, params, this.#session);
  }

  /** Goes to a page, and resolves when it is complete. */
  async goto(url: string): Promise<void> {
    const { errorText } = await this.send("Page.navigate", { url });
    if (errorText !== undefined) throw new Error(`cannot go to ${url}: ${errorText}`);
    await this.until(`location.href === ${JSON.stringify(new URL(url).href)} && document.readyState === "complete"`);
  }

  /** Resolves to the value of an expression in the page, as JSON has it. */
  async evaluate<T>(expression: string): Promise<T> {
    const answer = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    const { result, exceptionDetails } = answer as {
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    };
    if (exceptionDetails === undefined) return result.value;
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }

  /** Resolves when an expression holds in the page, whichever that is by then. */
  async until(expression: string, limit?: number): Promise<void> {
    // Between two pages there is nothing to ask.
    await until(() => this.evaluate<boolean>(expression).catch(() => false), expression, limit);
  }

  /** Presses a key. */
  async press(key: keyof typeof KEYS): Promise<void> {
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, ...KEYS[key] });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, ...KEYS[key] });
  }

  /** Moves the focus on by the keyboard until it is on what an expression, with the name `focus`, accepts. */
  async tabTo(expression: string, most = 30): Promise<void> {
    for (let presses = 0; presses < most; presses++) {
      await this.press("Tab");
      if (await this.evaluate(`((focus) => ${expression})(document.activeElement)`)) return;
    }
    throw new Error(`the keyboard does not reach ${expression}`);
  }

  /** Types into what has the focus. */
  async type(text: string): Promise<void> {
    await this.send("Input.insertText", { text });
  }

  /** Sets the size of the window, and the theme that the user prefers. */
  async show(width: number, height: number, theme: "light" | "dark" = "light"): Promise<void> {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await this.send("Emulation.setScrollbarsHidden", { hidden: true });
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: theme }] });
  }

  /** Returns a picture of the window, or of a part of it, as PNG. */
  async picture(part?: Rectangle): Promise<Uint8Array<ArrayBuffer>> {
    const clip = part === undefined ? {} : { clip: { ...part, scale: 1 } };
    const { data } = await this.send("Page.captureScreenshot", { format: "png", ...clip });
    return Uint8Array.from(atob(String(data)), (character) => character.charCodeAt(0));
  }

  /** Returns how many pixels of two pictures of the same size have a contrast of at least 3 to 1 to each other. */
  async changedPixels(before: Uint8Array, after: Uint8Array): Promise<number> {
    const [a, b] = [before, after].map((picture) => JSON.stringify(Array.from(picture)));
    return await this.evaluate(`(async () => {
      const pixels = async (bytes) => {
        const bitmap = await createImageBitmap(new Blob([Uint8Array.from(bytes)]));
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
        context.drawImage(bitmap, 0, 0);
        return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
      };
      const [a, b] = [await pixels(${a}), await pixels(${b})];
      const linear = (byte) => byte <= 10 ? byte / 3294.6 : ((byte / 255 + 0.055) / 1.055) ** 2.4;
      const light = (data, i) =>
        0.05 + 0.2126 * linear(data[i]) + 0.7152 * linear(data[i + 1]) + 0.0722 * linear(data[i + 2]);
      let changed = 0;
      for (let i = 0; i < a.length; i += 4) {
        const [x, y] = [light(a, i), light(b, i)];
        if (Math.max(x, y) / Math.min(x, y) >= 3) changed++;
      }
      return changed;
    })()`);
  }

  #note(method: string, params: Record<string, unknown>): void {
    if (method === "Network.requestWillBeSent") this.requests.push((params["request"] as { url: string }).url);
    if (["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"].includes(method)) {
      this.complaints.push(JSON.stringify(params));
    }
  }
}
