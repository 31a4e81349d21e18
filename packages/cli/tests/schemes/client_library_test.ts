import { assertRejects } from "@std/assert";
import { UsageError } from "../../src/command.ts";
import { loadClientLibrary } from "../../src/schemes/client_library.ts";

Deno.test("loadClientLibrary() says how to install a missing package in each runtime", async () => {
  const words = {
    deno: "Example needs the package no-such: Deno could not load npm:no-such@(( (",
    node: "Example needs the package no-such: install it beside this package: npm install no-such (",
    bun: "Example needs the package no-such: install it beside this package: bun add no-such (",
  };
  for (const [runtime, message] of Object.entries(words)) {
    // A version that no package can have: the registry is not asked for it.
    const library = { of: "Example", name: "no-such", version: "((" };
    await assertRejects(() => loadClientLibrary(library, { [runtime]: "1.0.0" }), UsageError, message);
  }
});
