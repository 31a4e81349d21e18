/** Replaces the random ids of the runtime by numbers, until it is disposed: the same in every run of a seed. */
export class HandleIds implements Disposable {
  readonly #randomUUID = Object.getOwnPropertyDescriptor(crypto, "randomUUID");
  #last = 0;

  constructor() {
    const value = () => `${(++this.#last).toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
    Object.defineProperty(crypto, "randomUUID", { value, configurable: true, writable: true });
  }

  [Symbol.dispose](): void {
    if (this.#randomUUID === undefined) Reflect.deleteProperty(crypto, "randomUUID");
    else Object.defineProperty(crypto, "randomUUID", this.#randomUUID);
  }
}
