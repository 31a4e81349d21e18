import { Taken } from "../kernel/taken.ts";

/** What a run of Redlock can do, step by step. */
export const TRANSITIONS = [
  "vote granted, counter raised",
  "vote granted, counter not raised",
  "vote refused",
  "vote refused, queued",
  "vote failed",
  "vote answered after its round",
  "vote executed after its release",
  "vote executed twice",
  "vote repeated after a handoff pause",
  "place in the queue kept by the next round",
  "place in the queue left",
  "coordinator changed",
  "wake-up received",
  "confirm done",
  "confirm refused",
  "confirm failed",
  "renewal renewed",
  "renewal lost on a node",
  "renewal failed",
  "renewal executed after its release",
  "renewal executed twice",
  "renewal of a changed lease",
  "node found free",
  "node found held",
  "node found taken",
  "inspect failed",
  "retake done",
  "retake refused",
  "retake failed",
  "retake executed after its release",
  "release done",
  "release found nothing",
  "release failed",
  "release repeated",
  "release executed twice",
  "lock granted in one trip",
  "lock granted in two trips",
  "block granted in one trip",
  "block granted in two trips",
  "fewer fences granted than wished for",
  "lock granted after waiting",
  "lock granted without the coordinator",
  "lock granted shared beside others",
  "run granted",
  "run handed on at once",
  "run handed on after a renewal",
  "run found lost as it was to be handed on",
  "renewal failed as a run was to be handed on",
  "member of a run attempted again",
  "member of a run gave up",
  "place in the queue of a member removed",
  "process granted the lock",
  "lock of a process handed on",
  "place of a handle given to another one",
  "lock of a process given back",
  "lock of a process lost",
  "grant too late for its lease",
  "lock lost",
  "lease kept although a renewal failed",
  "lease renewed after a renewal failed",
  "wait timed out",
  "wait aborted",
  "acquire failed with a quorum error",
] as const;

/** One of them. */
export type Transition = typeof TRANSITIONS[number];

/** How often each transition was taken. */
export class Transitions extends Taken<Transition> {
  /** Counts none. */
  constructor() {
    super(TRANSITIONS);
  }
}
