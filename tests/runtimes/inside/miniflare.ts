/**
 * Runs the worker with the tests in workerd, and prints its lines. Runs in Node.
 *
 * @module
 */
import { readFileSync } from "node:fs";

interface Miniflare {
  dispatchFetch(url: string, init: { method: "POST"; body: string }): Promise<Response>;
  dispose(): Promise<void>;
}

const [package_ = "", worker = ""] = process.argv.slice(2);
const { Miniflare }: { Miniflare: new (options: unknown) => Miniflare } = await import(package_);

const miniflare = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.js", contents: readFileSync(worker, "utf8") }],
  compatibilityDate: "2026-07-01",
  compatibilityFlags: ["nodejs_compat"],
});
try {
  const body = process.env["HOLDFAST_SETTINGS"] ?? "";
  const response = await miniflare.dispatchFetch("http://localhost/", { method: "POST", body });
  if (!response.ok) throw new Error(await response.text());
  for await (const chunk of response.body ?? []) process.stdout.write(chunk);
} finally {
  await miniflare.dispose();
}
