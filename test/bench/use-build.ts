/** Makes a process run the built package in place of its sources, which tsx would slow down with its own bookkeeping. */
import { register } from "node:module";

const hooks = `
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const url = found.url.replace(/\\/(adapters|lib)\\/([^?]*)\\.ts$/, "/dist/$1/$2.js");
  return url === found.url ? found : { ...found, url, format: "module" };
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
