/**
 * Draws the pictures of `docs/comparison.md` from the stored figures in `report.json` beside this file, `deno task
 * bench:pictures`. After a new run of `deno task bench:peers` copy its `results.json` and `results.md` there.
 *
 * The figures of version 0.1.0 are those of `report.md`, rounded as they are there.
 *
 * @module
 */
import { pictures } from "./pictures.ts";

if (Deno.args.length > 0) {
  console.log("Draw the pictures of docs/comparison.md from tools/peers/report.json: deno task bench:pictures");
  Deno.exit(["--help", "-h"].includes(Deno.args[0]!) ? 0 : 2);
}

const { outcomes, ...machine } = JSON.parse(await Deno.readTextFile(new URL("report.json", import.meta.url)));
for (const [file, svg] of pictures(machine, outcomes)) {
  await Deno.writeTextFile(new URL(`../../docs/pictures/${file}`, import.meta.url), svg);
}
