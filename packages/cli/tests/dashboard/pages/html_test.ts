import { assertEquals } from "@std/assert";
import { address } from "../../../src/dashboard/requests/address.ts";
import { html } from "../../../src/dashboard/pages/html.ts";
import { plain, visible } from "../../../src/dashboard/pages/visible_text.ts";

Deno.test("html() escapes what is put into it, in text and in attributes", () => {
  assertEquals(
    html`<p title="${`"'><&`}">${"<b>&amp;</b>"}</p>`.text,
    `<p title="&quot;&#39;&gt;&lt;&amp;">&lt;b&gt;&amp;amp;&lt;/b&gt;</p>`,
  );
});

Deno.test("html() leaves its own results as they are, also in arrays", () => {
  assertEquals(
    html`<ul>${["<", 1].map((item) => html`<li>${item}</li>`)}</ul>`.text,
    "<ul><li>&lt;</li><li>1</li></ul>",
  );
});

Deno.test("html() leaves nothing of undefined and false", () => {
  assertEquals(html`<p>${undefined}${false}${0}${""}</p>`.text, "<p>0</p>");
});

Deno.test("html() takes no object that looks like HTML for it", () => {
  assertEquals(html`${String({ text: "<b>" })}${JSON.stringify({ text: "<b>" })}`.text.includes("<b>"), false);
});

Deno.test("visible() shows each character that a reader could not see", () => {
  const shown = (text: string) => visible(text).text.replace(/<[^>]*>/g, "");
  assertEquals(shown("a\u0000b\u202ec\nd\u00a0e\u{e0001}"), "a\\u0000b\\u202ec\\u000ad\\u00a0e\\u{e0001}");
  assertEquals(shown("\ud800\u0378\u3164"), "\\ud800\\u0378\\u3164");
  assertEquals(shown("an invoice: é 🔒 日本"), "an invoice: é 🔒 日本");
});

Deno.test("visible() escapes HTML, and sets the direction of the text apart", () => {
  assertEquals(visible("<b>").text, '<bdi class="text">&lt;b&gt;</bdi>');
  assertEquals(visible("\u202e").text, '<bdi class="text"><span class="code">\\u202e</span></bdi>');
});

Deno.test("plain() shows each character that a reader could not see", () => {
  assertEquals(plain("a\u0000b\u202e<"), "a\\u0000b\\u202e<");
});

Deno.test("address() encodes each parameter, and leaves out those without a value", () => {
  assertEquals(
    address("/x", "lock", { name: "a/../b?c=d&e#\u0000", cursor: undefined }),
    "/x/lock?name=a%2F..%2Fb%3Fc%3Dd%26e%23%00",
  );
  assertEquals(address("", ""), "/");
  assertEquals(address("", "lock", { name: "\ud800" }), "/lock?name=%EF%BF%BD");
});
