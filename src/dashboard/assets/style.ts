import { COLOURS, type Palette } from "./colours.ts";

function properties(palette: Palette): string {
  return Object.entries(palette).map(([name, colour]) => `  --${name}: ${colour};`).join("\n");
}

/** The style of the pages. */
export const STYLE = `:root {
  color-scheme: light dark;
${properties(COLOURS.light)}
}

@media (prefers-color-scheme: dark) {
  :root {
${properties(COLOURS.dark)}
  }
}

* {
  box-sizing: border-box;
}

body {
  margin: 0 auto;
  padding: 0 1rem;
  max-width: 80rem;
  background: var(--ground);
  color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif;
}

html {
  background: var(--ground);
}

header {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.5rem 1rem;
  padding: 0.75rem 0;
  border-bottom: 1px solid var(--line);
}

header nav {
  flex: 1;
}

.home {
  color: var(--text);
  font-weight: 600;
  text-decoration: none;
}

main {
  padding: 1rem 0;
}

footer {
  padding: 0.5rem 0;
  border-top: 1px solid var(--line);
  color: var(--quiet);
  font-size: 0.875rem;
}

/* A name of a kilobyte must not push all else out of the window; half a line shows that there is more. */
h1 {
  margin: 0 0 1rem;
  max-height: 7.15em;
  overflow: auto;
  font-size: 1.5rem;
  line-height: 1.3;
  overflow-wrap: anywhere;
}

h2 {
  margin: 1.5rem 0 0.5rem;
  font-size: 1.125rem;
}

a {
  color: var(--link);
}

:focus-visible {
  outline: 3px solid var(--accent);
  outline-offset: 2px;
}

main:focus {
  outline: none;
}

.skip {
  position: absolute;
  left: -100rem;
}

.skip:focus {
  left: 1rem;
  top: 0.25rem;
  padding: 0.25rem 0.5rem;
  background: var(--ground);
}

.unseen {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

.quiet,
.state {
  color: var(--quiet);
}

.state {
  margin: 0;
  font-size: 0.875rem;
}

.fault {
  color: var(--fault);
  font-weight: 600;
}

.done {
  color: var(--done);
  font-weight: 600;
}

[hidden] {
  display: none;
}

/* A name as it is: with all its spaces, broken where the line ends, at the left whatever its direction. */
.text {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  text-align: left;
}

.code {
  padding: 0 0.15em;
  border: 1px solid var(--border);
  border-radius: 0.2em;
  color: var(--quiet);
  font: 0.8em ui-monospace, monospace;
}

#filter {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.5rem;
}

#filter input[type="search"] {
  flex: 1 1 12rem;
  min-width: 0;
}

#filter p {
  flex-basis: 100%;
  margin: 0;
  font-size: 0.875rem;
}

.choice {
  display: inline-flex;
  align-items: center;
  gap: 0.35rem;
  white-space: nowrap;
}

input,
select,
button,
.button {
  padding: 0.35rem 0.75rem;
  border: 1px solid var(--border);
  border-radius: 0.375rem;
  background: var(--raised);
  color: var(--text);
  font: inherit;
}

button,
.button {
  display: inline-block;
  cursor: pointer;
  text-decoration: none;
}

.danger {
  border-color: var(--danger);
  background: var(--danger);
  color: var(--onDanger);
}

.actions,
.pages {
  display: flex;
  flex-wrap: wrap;
  gap: 1rem;
}

/* The columns have widths of their own, so that what is long in one does not squash the others. */
table {
  table-layout: fixed;
  width: 100%;
  border-collapse: collapse;
}

thead [data-label="Waiting"],
thead [data-label="Ahead of it"] {
  width: 5.5rem;
}

thead [data-label="Kind"] {
  width: 6rem;
}

thead [data-label="Longest wait"],
thead [data-label="Held for"],
thead [data-label="Waiting for"] {
  width: 7.5rem;
}

thead [data-label="Lease ends in"] {
  width: 10.5rem;
}

thead [data-label="Fence"] {
  width: 11rem;
}

code {
  overflow-wrap: anywhere;
}

th,
td {
  padding: 0.4rem 0.75rem 0.4rem 0;
  border-bottom: 1px solid var(--line);
  text-align: start;
  vertical-align: top;
  font-variant-numeric: tabular-nums;
}

thead th {
  color: var(--quiet);
  font-size: 0.875rem;
  font-weight: 500;
  white-space: nowrap;
}

tbody th {
  font-weight: 500;
}

/* The ring of the focus goes around a box, not around a line that has another box in it. */
.list tbody th a {
  display: inline-block;
  max-width: 100%;
  vertical-align: top;
}

.list tbody .text,
.brief .text {
  display: -webkit-inline-box;
  max-width: 100%;
  overflow: hidden;
  vertical-align: top;
  text-decoration: inherit;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 3;
}

[aria-busy="true"] {
  opacity: 0.75;
}

dl {
  display: flex;
  flex-wrap: wrap;
  gap: 0 1rem;
  margin: 0;
}

dl div {
  display: flex;
  gap: 0.35rem;
}

dt {
  flex: none;
  max-width: 10rem;
  color: var(--quiet);
  font-weight: 400;
}

dd {
  margin: 0;
}

.totals {
  gap: 0.5rem 2rem;
  margin: 1rem 0;
}

.totals div {
  flex-direction: column;
  gap: 0;
}

.totals dt {
  max-width: none;
  font-size: 0.875rem;
}

.totals dd {
  font-size: 1.375rem;
  font-weight: 600;
  line-height: 1.3;
  font-variant-numeric: tabular-nums;
}

.notice {
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--border);
  border-inline-start-width: 4px;
  background: var(--raised);
}

.lease {
  display: inline-flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0 0.5rem;
}

.left,
time {
  white-space: nowrap;
}

.instant {
  display: block;
  color: var(--quiet);
  font-size: 0.8125rem;
  font-weight: 400;
}

meter {
  appearance: none;
  width: 6rem;
  height: 0.6rem;
  border: 1px solid var(--border);
  border-radius: 0.3rem;
  background: var(--raised);
  overflow: hidden;
}

meter::-webkit-meter-bar {
  height: 100%;
  border: 0;
  background: var(--raised);
}

meter::-webkit-meter-optimum-value {
  background: var(--accent);
}

meter::-moz-meter-bar {
  background: var(--accent);
}

@media (max-width: 60rem) {
  table,
  tbody,
  tbody th,
  tbody td {
    display: block;
    width: auto;
  }

  tbody tr {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr));
    column-gap: 1rem;
  }

  tbody th {
    grid-column: 1 / -1;
    min-width: 0;
  }

  /* Each cell bears the title of its column. */
  thead tr {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
  }

  tbody tr {
    padding: 0.5rem 0;
    border-bottom: 1px solid var(--line);
  }

  tbody th,
  tbody td {
    padding: 0.1rem 0;
    border: 0;
  }

  tbody td::before {
    content: attr(data-label) ": ";
    color: var(--quiet);
  }

  tbody td:empty {
    display: none;
  }

  tbody .instant {
    display: inline;
  }
}

@media (prefers-reduced-motion: no-preference) {
  meter::-webkit-meter-optimum-value {
    transition: width 0.25s linear;
  }
}
`;
