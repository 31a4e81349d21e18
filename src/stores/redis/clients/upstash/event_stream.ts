import { overdue, SystemClock } from "../../../../time/clock.ts";
import { ANSWER_MS } from "../../constants.ts";
import type { UpstashClient } from "../client.ts";
import type { MessageListener, SecondConnection } from "../port.ts";

const CLOCK = new SystemClock();

/** A line of an event: its kind, its channel, and the message or the number of subscriptions. */
const EVENT = /^data: ?(subscribe|message),[^,]*,(.*)$/;

/** Subscribes to a channel with a request whose answer goes on. A proxy may hold events back, or drop the stream. */
export function subscribeOver(
  events: NonNullable<UpstashClient["events"]>,
  channel: string,
  listener: MessageListener,
): SecondConnection {
  const closing = new AbortController();
  let isOpen = false;
  const failed = (error: unknown) => {
    if (closing.signal.aborted) return;
    // Where there is no such stream, the next try is not made soon.
    isOpen ? listener.ended(error) : listener.refused(error as Error);
  };
  const silent = () => failed(new Error("no event comes over the event stream"));
  const timer = overdue(ANSWER_MS, silent, CLOCK);
  const read = async () => {
    for await (const line of events(channel, closing.signal)) {
      const [, kind, message = ""] = EVENT.exec(line) ?? [];
      if (kind === "message") listener.message(channel, message);
      if (kind !== "subscribe" || isOpen) continue;
      isOpen = true;
      timer.cancel();
      listener.opened();
    }
    throw new Error("the event stream has ended");
  };
  read().catch(failed);
  return {
    probe: () => Promise.resolve(),
    close() {
      timer.cancel();
      closing.abort();
    },
  };
}
