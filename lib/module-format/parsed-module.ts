import type { JsonObject } from "../json.ts";
import type { ModuleTemplate } from "./module-templates.ts";
import type { Params } from "./params.ts";

/** A resource as a module writes it: `type`, the properties of every resource and those of its type. Plain JSON. */
export type ResourceDefinition = JsonObject;

/** A place in the text of a module, both from 1. */
export interface TextPlace {
  line: number;
  column: number;
}

/** A module without a fault. */
export interface ParsedModule {
  name: string;
  /** Null where none is written. */
  description: string | null;
  /** Selectors, each of which can be read; an agent must match one, unless there is none. */
  supports: string[];
  /** Modules that come before it, none of them twice. */
  requires: string[];
  /** Where each of these is written. */
  requiredAt: TextPlace[];
  /** What becomes of its resources when they are not desired any more, where they do not say so themselves. */
  removal: "restore" | "keep";
  /** What may be set where the module is used. */
  params: Params;
  /** As written, in the order in which they are written. */
  resources: ResourceDefinition[];
  /** The texts of resources that are templates, in the order of the resources. */
  templates: ModuleTemplate[];
  /** Places of the resources that a `sensitive` param or a secret goes into. */
  madeSensitive: ReadonlySet<number>;
  /** What each resource is called, and what it is about as far as that is known without an agent. */
  outline: ResourceOutline[];
}

/** A resource by its names. Where a template decides about `identity` it is the template, and `isLiteral` is false. */
export interface ResourceOutline {
  id: string;
  type: string;
  identity: string;
  isLiteral: boolean;
}
