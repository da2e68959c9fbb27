/** Reading the templates of a module, and checking what they name. */
import type { Issue } from "../errors.ts";
import { nameSchema } from "../internal/common-schemas.ts";
import type { Work, WorkBudget } from "../internal/work.ts";
import type { Json } from "../json.ts";
import { splitDefinition } from "../state/definition.ts";
import { moduleLimits } from "./module-schema.ts";
import { findTexts, readTemplate, toIssue, type ModuleTemplate } from "./module-templates.ts";
import type { Params } from "./params.ts";
import { countExpressions, type TemplateName } from "./template.ts";
import type { YamlText } from "./yaml-text.ts";

/** What reading an expression, and a name in it, costs, in steps. */
const [expressionCost, nameCost] = [1500, 10];

/** How many names that can't be there are told of one text; whoever has more has no use for the others. */
const toldOfText = 100;

/** Reads every template of the resources; tells what can't be read, and every name that can't be there. */
export function* readTemplates(
  definitions: readonly Json[],
  { params, text, budget }: { params: Params; text: YamlText; budget: WorkBudget },
): Work<{ templates: ModuleTemplate[]; issues: Issue[] }> {
  const templates: ModuleTemplate[] = [];
  const issues: Issue[] = [];
  let expressions = 0;
  for (const [resource, definition] of definitions.entries()) {
    if (typeof definition !== "object" || definition === null || Array.isArray(definition)) continue;
    const { common, spec } = splitDefinition(definition);
    for (const found of findTexts(common)) {
      const path = ["resources", resource, ...found.path];
      const message = `A template can't stand in "${found.path[0]}", only in what belongs to the type.`;
      issues.push({ path, message, ...text.place(path) });
    }
    for (const found of findTexts(spec)) {
      const path = ["resources", resource, ...found.path];
      const count = countExpressions(found.text);
      expressions += count;
      const tooMany = findExcess(count, expressions);
      if (tooMany !== null) {
        return { templates, issues: [...issues, { path, message: tooMany, ...text.place(path) }] };
      }
      budget.spend(expressionCost * count);
      if (budget.isSliceOver()) yield;
      const { template, issue } = readTemplate({ resource, ...found }, (offsets) =>
        text.placesWithin(path, offsets),
      );
      if (issue) issues.push(issue);
      else templates.push(template);
      if (template === null) continue;
      const { names } = template.template;
      budget.spend(nameCost * names.length);
      const faults = names.flatMap((name) => faultOf(name, params)).slice(0, toldOfText);
      issues.push(...faults.map((fault) => toIssue(template, fault)));
    }
  }
  return { templates, issues };
}

function findExcess(ofText: number, ofModule: number): string | null {
  const { expressions, expressionsOfText } = moduleLimits;
  if (ofText > expressionsOfText) return `This text has more than ${expressionsOfText} expressions.`;
  return ofModule > expressions ? `The module has more than ${expressions} expressions.` : null;
}

/** Why a name can't be there on any agent. */
function faultOf(used: TemplateName, params: Params): { message: string; offset: number }[] {
  const { root, name, offset } = used;
  switch (root) {
    case "attributes":
    case "tags":
      return [];
    case "params": {
      const param = name?.split(".")[0];
      if (param === undefined || Object.hasOwn(params, param)) return [];
      return [{ offset, message: `params.${param} is not there: the module declares no such param.` }];
    }
    case "secrets":
      if (name !== null && nameSchema.safeParse(name).success) return [];
      return [{ offset, message: `"${name ?? ""}" can't be the name of a secret.` }];
    default:
      return [
        {
          offset,
          message: `"${root}" is not there; a name begins with params, attributes, tags or secrets.`,
        },
      ];
  }
}
