/** What reads show of a module: worked out once, when it is taken in, so that no read parses it. */
import { toUtf8 } from "../crypto/encoding.ts";
import type { Work } from "../internal/work.ts";
import { hideModule } from "../module-format/hidden-module.ts";
import type { Params } from "../module-format/params.ts";
import type { ParsedModule, ResourceOutline } from "../module-format/parsed-module.ts";
import { findSecretParts } from "../module-format/secret-parts.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ModuleDetail } from "./schemas.ts";

/** Goes up with every change of what is hidden or how: what an earlier version stored is made anew. */
const viewVersion = 1;

/** Params and resources as those read them who may write modules. */
export interface ModuleView extends Pick<ModuleDetail, "params" | "resources"> {
  /** Names of the params whose values are secret. */
  secretParams: readonly string[];
  /** The whole as all others read it; null where nothing of it is secret. */
  hidden: Pick<ModuleDetail, "content" | "params" | "resources"> | null;
}

/** Of a module that is not valid any more there is nothing but its text to be shown, and nobody knows what of it is secret. */
export const noView: ModuleView = {
  params: {},
  resources: [],
  secretParams: [],
  hidden: {
    content: "# This module breaks a limit of this version: upload it anew.\n",
    params: {},
    resources: [],
  },
};

/** What is shown of a module. */
export function* makeView(content: string, module: ParsedModule, types: ResourceTypes): Work<ModuleView> {
  const hiding = yield* hideModule(content, module, types);
  return {
    ...toShown(module),
    secretParams: [...findSecretParts(module).params],
    hidden: hiding && { content: hiding.content, ...toShown(hiding) },
  };
}

function toShown(module: {
  params: Params;
  outline: readonly ResourceOutline[];
}): Pick<ModuleView, "params" | "resources"> {
  return {
    params: { ...module.params },
    resources: module.outline.map(({ id, type, identity }) => ({ id, type, identity })),
  };
}

/** A view as it is stored. */
export function encodeView(view: ModuleView): Uint8Array {
  return toUtf8(JSON.stringify({ version: viewVersion, ...view }));
}

/** A view that {@link encodeView} made; null where another version did, or it can't be read: then it is made anew. */
export function decodeView(bytes: Uint8Array): ModuleView | null {
  try {
    const { version, ...view } = JSON.parse(new TextDecoder().decode(bytes)) as ModuleView & {
      version?: number;
    };
    return version === viewVersion ? view : null;
  } catch {
    return null;
  }
}
