/** Which parts of a module are secret: what is marked `sensitive`, and what the marked parts and templates pass on to each other. */
import type { ModuleTemplate } from "./module-templates.ts";
import type { Params } from "./params.ts";
import type { ParsedModule } from "./parsed-module.ts";

/** The secret parts of a module. */
export interface SecretParts {
  /** Places of the resources whose values nobody but those who may write modules reads. */
  resources: ReadonlySet<number>;
  /** Names of the params whose values the same goes for. */
  params: ReadonlySet<string>;
}

/** The params that a module declares `sensitive`. */
export function sensitiveParams(params: Params): ReadonlySet<string> {
  return new Set(Object.keys(params).filter((name) => params[name]!.sensitive === true));
}

/** Whether a template uses one of these params, or all that there are. */
export function usesParam(
  { template }: Pick<ModuleTemplate, "template">,
  params: ReadonlySet<string>,
): boolean {
  if (params.size === 0) return false;
  return template.names.some(
    ({ root, name }) => root === "params" && (name === null || params.has(name.split(".")[0]!)),
  );
}

/** Whether a template uses a secret. */
export function usesSecret({ template }: Pick<ModuleTemplate, "template">): boolean {
  return template.names.some(({ root }) => root === "secrets");
}

/** The secrets that a module uses, by name. */
export function findSecretNames({ templates }: Pick<ParsedModule, "templates">): ReadonlySet<string> {
  const known = namesOfModule.get(templates);
  if (known) return known;
  const names = templates.flatMap(({ template }) =>
    template.names.flatMap(({ root, name }) => (root === "secrets" && name !== null ? name : [])),
  );
  const found = new Set(names);
  namesOfModule.set(templates, found);
  return found;
}

const namesOfModule = new WeakMap<object, ReadonlySet<string>>();

/** Places of the resources of which no error may quote a value: the secret ones, and those that a secret param goes into. */
export function findUnquotable(module: ParsedModule): ReadonlySet<number> {
  const { resources, params } = findSecretParts(module);
  const given = module.templates.filter((each) => usesParam(each, params));
  return new Set([...resources, ...given.map(({ resource }) => resource)]);
}

/** The resources into which a `sensitive` param or a secret goes, by their places: they are as secret as what is in them. */
export function findMadeSensitive({
  params,
  templates,
}: Pick<ParsedModule, "params" | "templates">): ReadonlySet<number> {
  const secret = sensitiveParams(params);
  const made = templates.filter((each) => usesParam(each, secret) || usesSecret(each));
  return new Set(made.map(({ resource }) => resource));
}

const known = new WeakMap<object, SecretParts>();

/** Finds the secret parts. A param that goes into a `sensitive` resource is one, whether it is marked or not. */
export function findSecretParts(
  module: Pick<ParsedModule, "params" | "resources" | "templates">,
): SecretParts {
  const found = known.get(module) ?? find(module);
  known.set(module, found);
  return found;
}

function find(module: Pick<ParsedModule, "params" | "resources" | "templates">): SecretParts {
  const madeSensitive = findMadeSensitive(module);
  const resources = new Set(
    [...module.resources.keys()].filter(
      (at) => module.resources[at]!["sensitive"] === true || madeSensitive.has(at),
    ),
  );
  const params = new Set(sensitiveParams(module.params));
  for (const { resource, template } of module.templates) {
    if (!resources.has(resource)) continue;
    for (const { root, name } of template.names)
      if (root === "params")
        for (const used of name === null ? Object.keys(module.params) : [name.split(".")[0]!])
          params.add(used);
  }
  return { resources, params };
}
