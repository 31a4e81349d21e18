/** A directory for data. */
export class DataDirectory implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync({ prefix: "holdfast_data_" });

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
