import type { z } from "zod";
import { addOperatorInput, setRoleInput } from "../access/schemas.ts";
import { createAssignmentInput, updateAssignmentInput } from "../assignments/schemas.ts";
import type { JsonObject } from "../json.ts";
import { createWindowInput, updateWindowInput } from "../maintenance/schemas.ts";
import { uploadModuleInput } from "../modules/schemas.ts";
import { createChannelInput, updateChannelInput } from "../notifications/schemas.ts";
import { createThresholdInput, updateThresholdInput } from "../thresholds/schemas.ts";

/** Reads what a step says as what its call takes. It throws a `ZodError` for a step that no plan made. */
export type ReadFolderInput<Input> = (step: { name: string; values: JsonObject }) => Input;

/**
 * What the calls of each kind take that makes or changes a thing, read from a step of a plan: the name of a thing stands with its fields
 * where a thing is made, and apart from them where it is changed.
 */
export const folderInputs = {
  modules: { create: reader(uploadModuleInput, "name"), change: reader(uploadModuleInput, "name") },
  assignments: {
    create: reader(createAssignmentInput, "name"),
    change: reader(updateAssignmentInput.omit({ name: true })),
  },
  windows: { create: reader(createWindowInput), change: reader(updateWindowInput.omit({ id: true })) },
  channels: { create: reader(createChannelInput), change: reader(updateChannelInput.omit({ id: true })) },
  thresholds: {
    create: reader(createThresholdInput),
    change: reader(updateThresholdInput.omit({ id: true })),
  },
  operators: {
    create: reader(addOperatorInput, "username"),
    change: reader(setRoleInput.omit({ operator_id: true })),
  },
} as const;

function reader<Schema extends z.ZodObject>(
  schema: Schema,
  nameField?: string,
): ReadFolderInput<z.output<Schema>> {
  return ({ name, values }) =>
    schema.parse(nameField === undefined ? values : { ...values, [nameField]: name });
}
