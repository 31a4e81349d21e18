/** Returns how many seeds a simulator plays in a test: so many, or as many as `SEEDS` says if that is less. */
export function seedsOf(all: number): number {
  return Math.min(all, Number(Deno.env.get("SEEDS") ?? all));
}
