/** Yields the lines of a stream, as they come. */
export async function* lines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const complete = (rest + text).split("\n");
    rest = complete.pop()!;
    yield* complete;
  }
}
