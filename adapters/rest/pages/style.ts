/** The one style sheet of all pages: system fonts, light and dark by the reader's own setting. */
export const styleSheet = `:root {
  --text: #1c2024; --soft: #60646c; --line: #e0e3e7; --back: #fff; --panel: #f6f7f9; --accent: #0b68cb;
  --get: #0b68cb; --post: #1a7f4b; --put: #9a6700; --patch: #8250df; --delete: #c4302b;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6e8eb; --soft: #9ba1a9; --line: #2c3138; --back: #121417; --panel: #1a1d21; --accent: #6cb0ff;
    --get: #6cb0ff; --post: #5dc98b; --put: #e0b341; --patch: #bf9bff; --delete: #ff8a80;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4.25rem; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
/* Among words a colour alone is no sign: not everybody sees it. */
p a, dd a, dt a, summary a { text-decoration: underline; text-underline-offset: 0.15em; }
.skip { position: absolute; left: 1rem; top: -3rem; z-index: 2; padding: 0.4rem 0.8rem; background: var(--back); border: 1px solid var(--line); border-radius: 5px; }
.skip:focus { top: 0.6rem; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
header { position: sticky; top: 0; z-index: 1; display: flex; align-items: center; gap: 2rem; height: 3.5rem; padding: 0 1.5rem; background: var(--back); border-bottom: 1px solid var(--line); }
header .brand { color: var(--text); font-weight: 650; letter-spacing: -0.01em; }
header nav { display: flex; gap: 1.25rem; font-size: 0.9rem; white-space: nowrap; }
.with-side { display: grid; grid-template-columns: 18rem minmax(0, 1fr); max-width: 90rem; margin: 0 auto; }
.plain main { max-width: 46rem; margin: 0 auto; }
aside { position: sticky; top: 3.5rem; align-self: start; height: calc(100vh - 3.5rem); overflow-y: auto; padding: 1.5rem 1rem 3rem 1.5rem; border-right: 1px solid var(--line); font-size: 0.86rem; }
aside h2 { margin: 1.4rem 0 0.3rem; font-size: 0.72rem; font-weight: 650; letter-spacing: 0.06em; text-transform: uppercase; color: var(--soft); }
aside h2:first-child { margin-top: 0; }
aside ul { margin: 0; padding: 0; list-style: none; }
aside li a { display: flex; align-items: baseline; justify-content: space-between; gap: 0.6rem; padding: 0.16rem 0.4rem; border-radius: 5px; color: var(--text); }
aside li a:hover { background: var(--panel); text-decoration: none; }
main { padding: 2rem 2.5rem 6rem; min-width: 0; }
h1 { margin: 0 0 0.5rem; font-size: 2rem; line-height: 1.2; letter-spacing: -0.02em; }
h2 { margin: 3.5rem 0 0.25rem; font-size: 1.45rem; letter-spacing: -0.015em; }
h3 { margin: 0; font-size: 1.15rem; letter-spacing: -0.01em; }
h4, .label { margin: 1.5rem 0 0.4rem; font-size: 0.78rem; font-weight: 650; letter-spacing: 0.05em; text-transform: uppercase; color: var(--soft); }
p { margin: 0.5rem 0; max-width: 46rem; }
.soft { color: var(--soft); }
code { font-family: var(--mono); font-size: 0.87em; background: var(--panel); border-radius: 4px; padding: 0.1em 0.25em; overflow-wrap: anywhere; }
pre { margin: 0; padding: 0.85rem 1rem; overflow-x: auto; max-height: 28rem; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; font: 0.8rem/1.55 var(--mono); }
pre code { padding: 0; background: none; font-size: inherit; overflow-wrap: normal; }
.operation { margin-top: 1.75rem; padding-top: 1.75rem; border-top: 1px solid var(--line); display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); gap: 0 2.5rem; }
.operation > .samples { display: flex; flex-direction: column; gap: 0.75rem; }
.samples h4 { margin: 0 0 -0.35rem; }
.route { display: flex; flex-wrap: wrap; align-items: center; gap: 0.6rem; margin: 0.4rem 0 0.6rem; font-family: var(--mono); font-size: 0.86rem; overflow-wrap: anywhere; }
.method { font: 650 0.68rem/1 var(--mono); letter-spacing: 0.03em; }
.route .method { padding: 0.32rem 0.5rem; border: 1px solid currentColor; border-radius: 5px; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.anchor { margin-left: 0.4rem; color: var(--soft); font-weight: 400; opacity: 0; }
h2:hover .anchor, h3:hover .anchor, .anchor:focus-visible { opacity: 1; }
.badge { padding: 0.05rem 0.5rem; border: 1px solid var(--line); border-radius: 999px; font: 0.75rem/1.5 system-ui, sans-serif; color: var(--soft); white-space: nowrap; }
dl { margin: 0; border-top: 1px solid var(--line); font-size: 0.9rem; }
dl > div { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
dt { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.15rem 0.6rem; }
dt > code:first-child { background: none; padding: 0; font-weight: 600; }
dt .type { color: var(--soft); font-size: 0.82rem; }
dt .required { color: var(--delete); font-size: 0.75rem; }
dd { margin: 0; }
dd p { margin: 0.15rem 0; }
dd dl { margin: 0.5rem 0 0 0.25rem; padding-left: 0.9rem; border-top: none; border-left: 2px solid var(--line); }
dd dl > div:last-child { border-bottom: none; }
details > summary { cursor: pointer; color: var(--soft); font-size: 0.85rem; }
details.response { border-bottom: 1px solid var(--line); padding: 0.5rem 0; }
details.response > summary { color: var(--text); font-size: 0.9rem; }
details.response > :not(summary) { margin: 0.4rem 0 0.6rem 1.1rem; font-size: 0.9rem; }
.status { font: 650 0.82rem var(--mono); margin-right: 0.5rem; }
.ok { color: var(--post); } .refused { color: var(--delete); }
.list { margin: 1.5rem 0 0; padding: 0; list-style: none; }
.list li { padding: 0.55rem 0; border-top: 1px solid var(--line); display: grid; grid-template-columns: minmax(0, 18rem) minmax(0, 1fr) auto; gap: 1rem; align-items: baseline; }
.list p { margin: 0; }
.schema { margin-top: 1.75rem; }
@media (max-width: 72rem) { .operation { grid-template-columns: minmax(0, 1fr); } .operation > .samples { margin-top: 1.25rem; } }
@media (max-width: 52rem) {
  .with-side { grid-template-columns: minmax(0, 1fr); }
  aside { position: static; height: auto; max-height: 16rem; border-right: none; border-bottom: 1px solid var(--line); }
  header { gap: 1.25rem; padding: 0 1.25rem; }
  main { padding: 1.5rem 1.25rem 4rem; }
  .list li { grid-template-columns: minmax(0, 1fr); gap: 0; }
}
@media print { header, aside { display: none; } .with-side { display: block; } pre { max-height: none; white-space: pre-wrap; } }
`;
