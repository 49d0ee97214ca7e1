// A Swagger document as a protobuf message: the only form in which client-go asks for it. Made of pieces, so that the
// caller can make them one at a time: fields 8 (paths) and 9 (definitions) may come any number of times and are merged.
// Source: google/gnostic-models openapiv2/OpenAPIv2.proto.
import { isJsonObject, stringifyJson } from '@kapstan/api';
import { ProtobufWriter } from '../codec/protobuf-wire.ts';

type Json = Readonly<Record<string, unknown>>;
type WriteField = (writer: ProtobufWriter, field: number, value: unknown) => void;
type Fields = Readonly<Record<string, readonly [field: number, write: WriteField]>>;

export function swaggerHead({ title, version }: { readonly title: string; readonly version: string }): Uint8Array {
  return piece((writer) => {
    writer.text(1, '2.0');
    writer.message(2, () => {
      writer.text(1, title);
      writer.text(2, version);
    });
  });
}

export function swaggerPathPiece(path: string, item: Json): Uint8Array {
  return piece((writer) =>
    writer.message(8, () => writeNamed(writer, 2, { name: path, fields: pathItemFields, value: item })),
  );
}

export function swaggerDefinitionPiece(name: string, schema: Json): Uint8Array {
  return piece((writer) =>
    writer.message(9, () => writeNamed(writer, 1, { name, fields: schemaFields, value: schema })),
  );
}

function piece(write: (writer: ProtobufWriter) => void): Uint8Array {
  const writer = new ProtobufWriter();
  write(writer);
  return writer.finish();
}

interface Named {
  readonly name: string;
  readonly fields: Fields;
  readonly value: Json;
}

function writeNamed(writer: ProtobufWriter, field: number, { name, fields, value }: Named): void {
  writer.message(field, () => {
    writer.text(1, name);
    writer.message(2, () => writeFields(writer, fields, value));
  });
}

function writeFields(writer: ProtobufWriter, fields: Fields, value: Json): void {
  for (const [word, [field, write]] of Object.entries(fields)) {
    if (Object.hasOwn(value, word) && value[word] !== undefined) write(writer, field, value[word]);
  }
  const extensions = extensionField.get(fields);
  if (extensions === undefined) return;
  for (const [word, one] of Object.entries(value)) {
    if (!word.startsWith('x-')) continue;
    writer.message(extensions, () => {
      writer.text(1, word);
      any(writer, 2, one);
    });
  }
}

const text: WriteField = (writer, field, value) => writer.text(field, String(value));
const double: WriteField = (writer, field, value) => writer.double(field, Number(value));
const whole: WriteField = (writer, field, value) => {
  writer.tag(field, 0);
  writer.varint(Number(value));
};
const flag: WriteField = (writer, field, value) => {
  if (value === true) whole(writer, field, 1);
};
/** Free values are YAML, of which JSON is a part. */
const any: WriteField = (writer, field, value) =>
  writer.message(field, () => writer.text(2, `${stringifyJson(value)}\n`));
const message =
  (fields: () => Fields): WriteField =>
  (writer, field, value) =>
    writer.message(field, () => writeFields(writer, fields(), value as Json));
const each =
  (write: WriteField): WriteField =>
  (writer, field, value) => {
    for (const one of value as readonly unknown[]) write(writer, field, one);
  };
/** A message that holds nothing but one field. */
const within =
  (inner: number, write: WriteField): WriteField =>
  (writer, field, value) =>
    writer.message(field, () => write(writer, inner, value));

const schema = message(() => schemaFields);
const properties: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [name, one] of Object.entries(value as Json)) {
      writeNamed(writer, 1, { name, fields: schemaFields, value: one as Json });
    }
  });
const valuesSchema: WriteField = (writer, field, value) =>
  writer.message(field, () => (isJsonObject(value) ? schema(writer, 1, value) : flag(writer, 2, value)));

const schemaFields: Fields = {
  $ref: [1, text],
  format: [2, text],
  title: [3, text],
  description: [4, text],
  default: [5, any],
  multipleOf: [6, double],
  maximum: [7, double],
  exclusiveMaximum: [8, flag],
  minimum: [9, double],
  exclusiveMinimum: [10, flag],
  maxLength: [11, whole],
  minLength: [12, whole],
  pattern: [13, text],
  maxItems: [14, whole],
  minItems: [15, whole],
  uniqueItems: [16, flag],
  maxProperties: [17, whole],
  minProperties: [18, whole],
  required: [19, each(text)],
  enum: [20, each(any)],
  additionalProperties: [21, valuesSchema],
  type: [22, within(1, text)],
  items: [23, within(1, schema)],
  allOf: [24, each(schema)],
  properties: [25, properties],
  example: [30, any],
};

const bodyFields: Fields = {
  description: [1, text],
  name: [2, text],
  in: [3, text],
  required: [4, flag],
  schema: [5, schema],
};
const queryFields: Fields = {
  required: [1, flag],
  in: [2, text],
  name: [4, text],
  type: [6, text],
  uniqueItems: [20, flag],
};
const pathFields: Fields = {
  required: [1, flag],
  in: [2, text],
  name: [4, text],
  type: [5, text],
  uniqueItems: [18, flag],
};

/** ParametersItem.parameter, in it body_parameter or non_body_parameter, in that one the place. */
const parameter: WriteField = (writer, field, value) =>
  writer.message(field, () =>
    writer.message(1, () => {
      const place = (value as Json).in;
      if (place === 'body') return message(() => bodyFields)(writer, 1, value);
      if (place === 'path')
        return within(
          4,
          message(() => pathFields),
        )(writer, 2, value);
      return within(
        3,
        message(() => queryFields),
      )(writer, 2, value);
    }),
  );

const responseFields: Fields = { description: [1, text], schema: [2, within(1, schema)] };
const responses: WriteField = (writer, field, value) =>
  writer.message(field, () => {
    for (const [code, one] of Object.entries(value as Json)) {
      writer.message(1, () => {
        writer.text(1, code);
        within(
          1,
          message(() => responseFields),
        )(writer, 2, one);
      });
    }
  });

const operationFields: Fields = {
  tags: [1, each(text)],
  description: [3, text],
  operationId: [5, text],
  consumes: [7, each(text)],
  parameters: [8, each(parameter)],
  responses: [9, responses],
};
const operation = message(() => operationFields);

const pathItemFields: Fields = {
  get: [2, operation],
  put: [3, operation],
  post: [4, operation],
  delete: [5, operation],
  patch: [8, operation],
  parameters: [9, each(parameter)],
};

/** Where a message keeps its words that begin with "x-". */
const extensionField: ReadonlyMap<Fields, number> = new Map([
  [schemaFields, 31],
  [operationFields, 13],
]);
