// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { until } from "../../support/until.ts";
import { Switches } from "./switches.ts";

for (const explained of [false, true]) {
  Deno.test(`Switches ${explained ? "leaves out" : "notices"} other masters that ${explained ? "a fault" : "nobody"} has made`, async () => {
    const [a, b, c] = [{ port: 1 }, { port: 2 }, { port: 3 }];
    const answers = [[a, b], [b, a], [a], [a, b], undefined, [c, b], [b, c]];
    let asked = 0;
    await using switches = new Switches(() => {
      const answer = answers[Math.min(asked++, answers.length - 1)];
      return answer === undefined ? Promise.reject(new Error("in between")) : Promise.resolve(answer);
    }, () => explained);
    await until(() => asked > answers.length, "all is asked");
    assertEquals(switches.seen.map(({ what }) => what), explained ? [] : ["masters changed by themselves"]);
  });
}
