import { assert, assertEquals, assertThrows } from "@std/assert";
import { upstash, type UpstashOptions } from "@holdfast/lock/upstash";

const OPTIONS: UpstashOptions = { url: "https://db.example.com", token: "secret" };

/** Options that are wrong in some way. */
function wrong(options: object): () => unknown {
  return () => upstash({ ...OPTIONS, ...options } as UpstashOptions);
}

Deno.test("upstash() throws without options, and for an unknown one", () => {
  assertThrows(() => upstash(undefined as never), TypeError, "options must be an object");
  assertThrows(wrong({ retry: 5 }), TypeError, 'unknown option "retry": known are url, token, fetch');
  assertThrows(wrong({ fetch: "fetch" }), TypeError, 'fetch must be a function: got "fetch"');
});

Deno.test("upstash() throws for a URL that is none of such a database, without its secrets", () => {
  const urls = ["db.example.com", "", 7, undefined, "https://", "rediss://default:secret@db.example.com:6379"];
  for (const url of [...urls, "https://a:secret@db.example.com", "https://db/?_token=secret", "https://db/#secret"]) {
    const { message } = assertThrows(wrong({ url }), TypeError, "url must be one such as https://");
    assert(!message.includes("secret"), message);
  }
});

Deno.test("upstash() throws for a token that no header can have, and does not quote it", () => {
  for (const token of [undefined, "", 7, "secret\n", "two secrets", "secr\u00e9t"]) {
    const { message } = assertThrows(wrong({ token }), TypeError, "token must be a text without spaces");
    assert(!/secr/.test(message), message);
  }
});

Deno.test("upstash() keeps the path of a URL, and no slash at its end", () => {
  assertEquals(upstash({ ...OPTIONS, url: "HTTPS://db.example.com/proxy/" }).url, "https://db.example.com/proxy");
});
