// Deno only: it takes long, and explores a model.
import { assertExhausted, BLOCKS, SMALL } from "./exhausted.ts";
import { exploreFence } from "./fence_model.ts";

// fence_model_test.ts finds each flaw with fewer states.

Deno.test("fence protocol gives unique fences whatever two clients guess", () => {
  assertExhausted(exploreFence({ ...SMALL, guesses: [1, 2] }), 200_000);
});

Deno.test("fence protocol gives blocks that do not overlap where guesses are apart", () => {
  assertExhausted(exploreFence({ ...BLOCKS, guesses: [1, 3] }), 200_000);
});

Deno.test("fence protocol gives blocks that do not overlap though one is within another", () => {
  assertExhausted(exploreFence({ ...SMALL, lengths: [1, 3] }), 110_000);
});
