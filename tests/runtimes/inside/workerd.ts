import { type Files, note, results } from "./runner.ts";
import { type Settings, settings } from "./settings.ts";

/** A worker that runs the tests when it is asked to, and answers with their lines. */
export function worker(files: Files): { fetch(request: Request): Promise<Response> } {
  return {
    async fetch(request) {
      Object.assign(settings, await request.json() as Settings);
      addEventListener("unhandledrejection", (event) => note(event.reason));
      const lines = results(files);
      const encoder = new TextEncoder();
      return new Response(
        new ReadableStream<Uint8Array>({
          async pull(controller) {
            const { done, value } = await lines.next();
            if (done) controller.close();
            else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
          },
        }),
        // Of any other type it would be compressed, and come only at the end.
        { headers: { "content-type": "application/x-ndjson" } },
      );
    },
  };
}
