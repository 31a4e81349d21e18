// Deno only: it tests the telemetry of Deno.
import { acquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { otel, traceMeta } from "@holdfast/otel";
import { assert, assertEquals } from "@std/assert";
import { withoutCoverage } from "../../../tests/support/without_coverage.ts";

/** A span or a metric, as Deno prints it. */
interface Printed {
  readonly kind: string;
  readonly name: string;
  /** The ids of a span. */
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly text: string;
}

/** Runs the program with Deno's exporter that prints; returns what it exported, and what it says that happened. */
async function run(): Promise<{ printed: Printed[]; said: Record<string, string>[] }> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", new URL("deno_program.ts", import.meta.url).pathname],
    clearEnv: true,
    env: {
      ...withoutCoverage(),
      NO_COLOR: "1",
      OTEL_DENO: "true",
      OTEL_DENO_CONSOLE: "ignore",
      OTEL_EXPORTER_OTLP_PROTOCOL: "console",
    },
    stdin: "null",
  }).output();
  const [out, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert(success, errors);
  const printed = errors!.split(/^(?=SPAN |METRIC )/m).flatMap((text): Printed[] => {
    const [, kind, name, traceId, spanId] = /^(SPAN|METRIC) (\S+) (?:\[(\w+)\/(\w+)\])?/.exec(text) ?? [];
    return kind === undefined || name === undefined ? [] : [{ kind, name, traceId, spanId, text }];
  });
  return { printed, said: out!.trim().split("\n").map((line) => JSON.parse(line)) };
}

/** The last export of a metric. */
function metric(printed: readonly Printed[], name: string): string {
  return printed.findLast((each) => each.kind === "METRIC" && each.name === `holdfast.lock.${name}`)?.text ?? "";
}

Deno.test("otel() exports with the telemetry of Deno what happened", async (test) => {
  const { printed, said } = await run();
  const all = printed.map(({ text }) => text).join("");
  const spans = (name: string) => printed.filter((each) => each.kind === "SPAN" && each.name === name);
  const [holder, waiter] = [spans("holder")[0], spans("waiter")[0]];
  const holds = spans("holdfast.lock.hold");
  const acquires = spans("holdfast.lock.acquire");

  await test.step("a span for each lock that was held, with its fence", () => {
    const fences = holds.map(({ text }) => /holdfast\.lock\.fence: (\d+)/.exec(text)?.[1]);
    assertEquals(fences.toSorted(), said.map(({ fence }) => fence).toSorted(), all);
  });
  await test.step("a span for each call, below the span that made it", () => {
    const results = acquires.map(({ text }) => /holdfast\.lock\.result: (\w+)/.exec(text)?.[1]);
    assertEquals(results.toSorted(), ["acquired", "acquired", "acquired", "busy"], all);
    const below = (parent: Printed | undefined) =>
      [...acquires, ...holds].filter(({ text }) => text.includes(`parent: ${parent?.spanId}`)).length;
    assertEquals([below(holder), below(waiter)], [2, 2], all);
  });
  await test.step("the span of the waiter links to the holder's", () => {
    assertEquals(said[0]?.["traceparent"], `00-${holder?.traceId}-${holder?.spanId}-01`);
    const linked = acquires.filter(({ text }) => text.includes(`- ${holder?.traceId}/${holder?.spanId}`));
    assertEquals(linked.map(({ traceId }) => traceId), [waiter?.traceId], all);
  });
  await test.step("the loss of a lock, with its reason", () => {
    const lost = holds.filter(({ text }) => /holdfast\.lock\.lost .*holdfast\.lock\.reason: expired/.test(text));
    assertEquals(lost.map(({ text }) => /status: Error/.test(text)), [true], all);
  });
  await test.step("metrics of the waits, the holds, and the contentions", () => {
    assert(/result="?acquired"?\S* count=3/.test(metric(printed, "wait.duration")), all);
    assert(/result="?busy"?\S* count=1/.test(metric(printed, "wait.duration")), all);
    assert(/end="?released"?\S* count=2/.test(metric(printed, "hold.duration")), all);
    assert(/end="?expired"?\S* count=1/.test(metric(printed, "hold.duration")), all);
    assert(/value=2$/m.test(metric(printed, "contentions")), all);
    for (const name of ["active", "request.active"]) assert(/value=0$/m.test(metric(printed, name)), all);
  });
});

Deno.test("otel() does nothing in Deno while its telemetry is off", async () => {
  const store = memory({ observer: otel() });
  await using lock = await acquire(store, "a", { meta: traceMeta() });
  assertEquals([lock.held, (await store.query!()).held[0]?.meta?.["traceparent"]], [true, undefined]);
});
