// The script of the pages. They work without it: it keeps them up to date.
//
// 1. It takes the events of the page: each brings the part of the page that has changed, as HTML that the server made.
//    It changes only the nodes that differ, so that the focus, the selection and the place of the window stay.
// 2. It lets ages and leases go on between events, by the clock of the server.
// 3. It filters and orders while somebody types and chooses.
// 4. It is silent while the page is hidden, and when somebody pauses it.
//
// The server writes the function showDuration() before it, which it uses itself.
(() => {
  "use strict";

  const { events } = document.body.dataset;
  const live = document.getElementById("live");
  if (!events || !live) return;
  const counters = document.getElementById("counters");
  const fault = document.getElementById("fault");
  const state = document.getElementById("state");
  const news = document.getElementById("news");
  const pause = document.getElementById("pause");
  const filter = document.getElementById("filter");

  // 1. Events.

  let source;
  let again;
  let paused = false;

  function open() {
    close();
    if (paused || document.hidden) return;
    source = new EventSource(events + location.search);
    source.addEventListener("view", (event) => show(JSON.parse(event.data)));
    source.addEventListener("counters", (event) => morphTo(counters, JSON.parse(event.data).html));
    source.addEventListener("fault", (event) => showFault(JSON.parse(event.data).message));
    source.onerror = () => {
      say("no connection, trying again");
      // It tries again by itself, unless the server has refused.
      if (source.readyState === EventSource.CLOSED) again = setTimeout(open, 3000);
    };
  }

  function close() {
    clearTimeout(again);
    if (source) source.close();
    source = undefined;
  }

  function show(view) {
    now = view.now;
    at = performance.now();
    morphTo(live, view.html);
    live.removeAttribute("aria-busy");
    fault.hidden = true;
    fault.textContent = "";
    tick();
    say("live");
    announce(view.summary);
  }

  function showFault(message) {
    fault.textContent = message;
    fault.hidden = false;
    say("store unreachable, trying again");
  }

  function say(text) {
    state.hidden = false;
    if (state.textContent !== text) state.textContent = text;
  }

  // What a screen reader says: at most every five seconds, and only what is new.
  let said;
  let toSay;
  let saying;

  function announce(text) {
    if (said === undefined) said = text;
    toSay = text;
    if (saying !== undefined || text === said) return;
    saying = setTimeout(() => {
      saying = undefined;
      if (toSay === said) return;
      said = toSay;
      news.textContent = toSay;
    }, 5000);
  }

  function morphTo(element, html) {
    if (!element) return;
    const template = document.createElement("template");
    template.innerHTML = html;
    const focus = document.activeElement;
    morphChildren(element, template.content);
    // A row that has got another place loses the focus.
    if (focus !== document.activeElement && focus.isConnected) focus.focus({ preventScroll: true });
  }

  function morphChildren(parent, wanted) {
    const keys = new Set();
    for (const child of wanted.children) keys.add(child.dataset.key);
    const kept = new Map();
    for (const child of [...parent.children]) {
      const { key } = child.dataset;
      if (key === undefined) continue;
      if (keys.has(key)) kept.set(key, child);
      else child.remove();
    }
    let place = parent.firstChild;
    for (const node of wanted.childNodes) {
      const key = keyOf(node);
      const old = key === undefined ? place : kept.get(key);
      if (old && keyOf(old) === key && old.nodeName === node.nodeName) {
        // Whatever stands before it is not wanted: were it moved itself, it would lose the focus.
        while (key !== undefined && place && place !== old && keyOf(place) === undefined) place = remove(place);
        if (old === place) place = place.nextSibling;
        else parent.insertBefore(old, place);
        morph(old, node);
      } else {
        parent.insertBefore(document.importNode(node, true), place);
      }
    }
    while (place) place = remove(place);
  }

  function remove(node) {
    const next = node.nextSibling;
    node.remove();
    return next;
  }

  function keyOf(node) {
    return node.dataset ? node.dataset.key : undefined;
  }

  function morph(old, node) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== node.nodeValue) old.nodeValue = node.nodeValue;
      return;
    }
    for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of node.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    morphChildren(old, node);
  }

  // 2. Ages and leases.

  let now = Number(document.body.dataset.now);
  let at = performance.now();

  function tick() {
    const present = now + performance.now() - at;
    for (const element of live.querySelectorAll("[data-since]")) {
      write(element, showDuration(present - Number(element.dataset.since)));
    }
    for (const element of live.querySelectorAll("[data-ends]")) {
      const left = Math.max(0, Number(element.dataset.ends) - present);
      if (element.localName === "meter") element.value = left;
      else write(element, showDuration(left));
    }
  }

  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  setInterval(() => {
    if (!paused && !document.hidden) tick();
  }, calm ? 1000 : 250);

  // 3. The filter.

  let typing;

  function applyFilter() {
    clearTimeout(typing);
    const url = new URL(location.href);
    url.search = "";
    for (const [name, value] of new FormData(filter)) {
      if (value !== "" && !(name === "sort" && value === "wait")) url.searchParams.set(name, value);
    }
    history.replaceState(null, "", url);
    live.setAttribute("aria-busy", "true");
    if (paused) location.reload();
    else open();
  }

  if (filter) {
    filter.addEventListener("input", () => {
      clearTimeout(typing);
      if (!paused) typing = setTimeout(applyFilter, 200);
    });
    filter.addEventListener("submit", (event) => {
      event.preventDefault();
      applyFilter();
    });
  }

  // 4. Silence.

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (paused) say("paused");
    open();
  });
  document.addEventListener("visibilitychange", open);
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => {
    if (event.persisted) open();
  });
  open();
})();
