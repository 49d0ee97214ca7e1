// The two kinds of the library: a schema, the columns that kubectl prints, and what the schema cannot say.
import type { KubernetesObject } from '@kapstan/api';
import { invalidField } from '@kapstan/api/errors';
import { type SchemaKind, timeSince } from '@kapstan/apiserver';

type Book = KubernetesObject & { spec: { title: string; copies: number }; status?: { available?: number } };
type Loan = KubernetesObject & { spec: { book: string; reader: string } };

export const group = 'library.example.com';
const text = (description: string) => ({ type: 'string', minLength: 1, description });
const column = (name: string, type: string, priority = 0) => ({
  ...{ name, type, format: name === 'Name' ? 'name' : '', description: name, priority },
});

export const books: SchemaKind<Book> = {
  ...{ group, version: 'v1', kind: 'Book', plural: 'books', shortNames: ['bk'], categories: ['all'] },
  hasStatus: true,
  schema: {
    type: 'object',
    description: 'Book is a title in the library.',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        description: 'What the library owns of it.',
        required: ['title'],
        properties: {
          title: text('Title as printed on the cover.'),
          copies: { type: 'integer', format: 'int64', minimum: 0, default: 1, description: 'Number of copies.' },
        },
      },
      status: {
        type: 'object',
        description: 'What can be lent.',
        properties: { available: { type: 'integer', format: 'int64' } },
      },
    },
  },
  table: {
    columns: [
      column('Name', 'string'),
      column('Title', 'string'),
      column('Copies', 'integer'),
      column('Available', 'integer'),
      column('Age', 'string'),
    ],
    cells: ({ metadata, spec, status }) => [
      metadata?.name,
      spec.title,
      spec.copies,
      status?.available ?? spec.copies,
      timeSince(metadata?.creationTimestamp),
    ],
  },
  validate: ({ spec, status }) =>
    (status?.available ?? 0) <= spec.copies
      ? []
      : [invalidField('status.available', status?.available, 'must not be more than the number of copies')],
};

export const loans: SchemaKind<Loan> = {
  ...{ group, version: 'v1', kind: 'Loan', plural: 'loans' },
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['book', 'reader'],
        properties: { book: text('Name of the book.'), reader: text('Name of the borrower.') },
      },
    },
  },
};
