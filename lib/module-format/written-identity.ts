/** What a resource is about as far as its text tells, before any template is evaluated. */
import type { Issue } from "../errors.ts";
import { splitDefinition } from "../state/definition.ts";
import type { ResourceType, ResourceTypes } from "../state/resource-type.ts";
import { fillIn, type ModuleTemplate } from "./module-templates.ts";
import type { ResourceDefinition } from "./parsed-module.ts";
import { usesSecret } from "./secret-parts.ts";

/** The identity before templates are evaluated; null where there is none, or none that can be told. */
export function identityAsWritten(
  type: ResourceType | undefined,
  definition: ResourceDefinition,
): string | null {
  if (!type) return null;
  try {
    const identity: unknown = type.identity(splitDefinition(definition).spec);
    return typeof identity === "string" ? identity : null;
  } catch {
    // It is not even of the right form; the schema says so.
    return null;
  }
}

/** Whether a sensitive resource of this type goes by its id, because its identity quotes a value. */
function namedById(type: ResourceType | undefined, definition: ResourceDefinition): boolean {
  try {
    return type?.identityHoldsValue?.(splitDefinition(definition).spec) === true;
  } catch {
    return false;
  }
}

/** The secrets that can't be where they are: in what is shown everywhere, or in what a type writes down on the machine. */
export function misplacedSecrets(
  types: ResourceTypes,
  definition: ResourceDefinition,
  secret: readonly ModuleTemplate[],
): Pick<Issue, "path" | "message">[] {
  if (secret.length === 0) return [];
  const keeps = types.get(String(definition["type"]))?.removing?.keepsSpec;
  const kept = keeps?.(splitDefinition(definition).spec) === true ? secret.filter(usesSecret) : [];
  return [
    ...secretsThatName(types, definition, secret).map((path) => ({
      path,
      message: "A sensitive param or a secret can't be in what names the resource: that is shown.",
    })),
    ...kept.map(({ path }) => ({
      path,
      message: "A secret can't be in what notes its properties to take itself back.",
    })),
  ];
}

/** Where secrets decide what a resource is about, which is shown everywhere, unless it goes by its id. */
function secretsThatName(
  types: ResourceTypes,
  definition: ResourceDefinition,
  secret: readonly ModuleTemplate[],
): Issue["path"][] {
  const type = types.get(String(definition["type"]));
  const written = identityAsWritten(type, definition);
  if (written === null || namedById(type, definition)) return [];
  // By property: each time the definition is written anew.
  const properties = [...new Set(secret.map(({ path }) => path[0]))];
  return properties.flatMap((property) => {
    const paths = secret.map(({ path }) => path).filter(([first]) => first === property);
    const blank = fillIn(
      definition,
      paths.map((path) => ({ path, value: "\u0000" })),
    );
    return identityAsWritten(type, blank) === written ? [] : paths;
  });
}
