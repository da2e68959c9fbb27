/** Values of params as those read them who may not read the secrets among them. */
import type { Json } from "../internal/json.ts";
import { hidden } from "../state/state-result.ts";
import type { ModuleView } from "./module-view.ts";
import type { ParamValues } from "./params.ts";

/** Hides the values of params that one of the modules of an assignment keeps secret, and of those that none of them knows. */
export function hideValues(
  values: ParamValues,
  modules: readonly { name: string; view: Pick<ModuleView, "params" | "secretParams"> }[],
): { [key: string]: Json } {
  const shown = new Set<string>();
  const secret = new Set<string>();
  for (const { name: module, view } of modules) {
    const secrets = new Set(view.secretParams);
    for (const name of Object.keys(view.params))
      for (const key of [name, `${module}.${name}`]) (secrets.has(name) ? secret : shown).add(key);
  }
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, shown.has(key) && !secret.has(key) ? value : hidden]),
  );
}
