// The types that the kinds of all groups share. Kinds themselves come by group and version: `@kapstan/kinds/apps/v1`.
export type {
  Condition,
  FieldsV1,
  IntOrString,
  LabelSelector,
  LabelSelectorRequirement,
  MicroTime,
  Quantity,
  RawExtension,
  Time,
} from './generated/meta/v1.ts';
