// Deno only: it runs the type checker of Deno.
import { assert } from "@std/assert";
import { blocksOf, denoWithPackages } from "./packages/run.ts";

Deno.test("docs/recipes/ has programs whose types fit the packages that they use", async () => {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_recipes_" });
  try {
    const pages = [...Deno.readDirSync(new URL("../../docs/recipes/", import.meta.url))].map(({ name }) => name);
    // The blocks of that page are parts of a program, which is checked where it runs.
    const programs = pages.filter((page) => page !== "orms.md").flatMap((page) =>
      blocksOf(page).map((code, i) => ({ file: `${page.replace(".md", "")}_${i}.ts`, code }))
    );
    assert(programs.length >= 5, "the programs were found");
    for (const { file, code } of programs) {
      const typed = code.replace("import express", `// @ts-types="@types/express"\nimport express`);
      await Deno.writeTextFile(`${directory}/${file}`, `${typed}\nexport {};\n`);
    }
    // All at once: each check by itself would compile the package anew.
    const { success, err } = await denoWithPackages(["check", ...programs.map(({ file }) => file)], directory);
    assert(success, err);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
