/** What is believed of the modules of one machine: which it has, who brings each, and what calls said of it. */
import { type NamedModule, namedOf } from "../module-format/module-reference.ts";
import { modulesOf } from "./applied-modules.ts";
import type { AgentStateDocument } from "./documents.ts";
import type { BelievedState } from "./schemas.ts";

type BelievedModule = BelievedState["modules"][number];

/** Each module that an agent has, or is to have by a call, by name. */
export function believedModules(state: Readonly<AgentStateDocument> | null): BelievedModule[] {
  const known = modulesOf(state);
  const names = new Set([...known.keys(), ...Object.keys(state?.named ?? {})]);
  return [...names].sort().map((name) => {
    const { applied, assignments = [], leaving } = known.get(name) ?? {};
    const named = namedOf(state?.named, name);
    return {
      name,
      ...(applied && { revision_applied: applied.revision }),
      assignments: [...assignments],
      ...(named && { named: toBelievedNaming(named) }),
      ...(leaving && { leaving }),
    };
  });
}

/** Values of params may be secrets: of them only the names are told. */
function toBelievedNaming({ revision, params }: NamedModule): NonNullable<BelievedModule["named"]> {
  return {
    ...(revision !== undefined && { revision }),
    ...(params && { params: Object.keys(params).sort() }),
  };
}
