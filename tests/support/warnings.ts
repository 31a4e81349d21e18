import process from "node:process";

/** Resolves to the messages of the warnings of this package that the process is given while a function runs. */
export async function warningsOf(run: () => unknown): Promise<string[]> {
  const warnings: string[] = [];
  const over = Promise.withResolvers<void>();
  const note = ({ name, message }: Error) => {
    if (name === "HoldfastWarning") warnings.push(message);
    if (name === "TestWarning") over.resolve();
  };
  process.on("warning", note);
  try {
    await run();
    // They come in order, and later than the calls.
    process.emitWarning("the last one", "TestWarning");
    await over.promise;
  } finally {
    process.off("warning", note);
  }
  return warnings;
}
