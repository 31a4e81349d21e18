import { assertEquals, assertRejects } from "@std/assert";
import { replayed } from "./replayed.ts";

Deno.test("replayed() plays a spoilt scenario again, and rejects with the last reason", async () => {
  for (const spoilt of [0, 2, 3]) {
    let plays = 0;
    const play = () => Promise.resolve(plays++ < spoilt ? `play ${plays}` : undefined);
    if (spoilt < 3) await replayed(play);
    else await assertRejects(() => replayed(play), Error, "play 3");
    assertEquals(plays, Math.min(spoilt + 1, 3));
  }
  await assertRejects(() => replayed(() => Promise.resolve("spoilt"), 5), Error, "spoilt");
  await assertRejects(() => replayed(() => Promise.reject(new TypeError("a verdict"))), TypeError, "a verdict");
});
