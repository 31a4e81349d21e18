// Deno only: it tests the command that runs tests in the other runtimes.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { freePort } from "../support/free_port.ts";
import { install } from "./install.ts";

Deno.test("install() names in one line what it cannot fetch, and tries again the next time", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_install_" });
  const env = { DENO_DIR: `${folder}/cache`, NPM_CONFIG_REGISTRY: `http://127.0.0.1:${freePort()}/` };
  for (let time = 0; time < 2; time++) {
    const { message } = await assertRejects(() => install(`${folder}/modules/`, env), Error);
    assert(/^Cannot fetch the runtimes from npm: .*"[\w@/-]+".*refused/.test(message), message);
    assertEquals(message.split("\n").length, 1);
  }
  await Deno.remove(folder, { recursive: true });
});
