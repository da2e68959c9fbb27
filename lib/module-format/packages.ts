/**
 * The packages that read the text of a module, each loaded when the first text needs it: a program that embeds the library may never
 * see a module, and an orchestrator whose modules have no templates never sees one of those.
 */
import { createRequire } from "node:module";
import type * as Liquid from "liquidjs";
import type * as Yaml from "yaml";

// Reading a module is synchronous for those who call it, so that an `import()` is too late.
const require = createRequire(import.meta.url);

let liquid: typeof Liquid | undefined;
let yaml: typeof Yaml | undefined;

/** The package that reads templates. */
export function liquidPackage(): typeof Liquid {
  return (liquid ??= require("liquidjs") as typeof Liquid);
}

/** The package that reads YAML. */
export function yamlPackage(): typeof Yaml {
  return (yaml ??= require("yaml") as typeof Yaml);
}
