/** What reads show of a module beside its text: worked out once, when it is taken in, so that no read parses it. */
import { toUtf8 } from "../crypto/encoding.ts";
import type { ParsedModule } from "./parsed-module.ts";
import type { ModuleDetail } from "./schemas.ts";

/** Params and resources as reads show them. */
export type ModuleView = Pick<ModuleDetail, "params" | "resources">;

/** Of a module that is not valid any more there is nothing but its text to be shown. */
export const noView: ModuleView = { params: {}, resources: [] };

/** What is shown of a module. */
export function viewOf({ params, outline }: ParsedModule): ModuleView {
  return {
    params: { ...params },
    resources: outline.map(({ id, type, identity }) => ({ id, type, identity })),
  };
}

/** A view as it is stored. */
export function encodeView(view: ModuleView): Uint8Array {
  return toUtf8(JSON.stringify(view));
}

/** A view that {@link encodeView} made. */
export function decodeView(bytes: Uint8Array): ModuleView {
  return JSON.parse(new TextDecoder().decode(bytes)) as ModuleView;
}
