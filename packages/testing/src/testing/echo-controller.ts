// A controller with every kind of webhook, for the tests of webhooks in one process and over HTTPS.
import { defineResource } from '@kapstan/api';
import { conflict, requiredField } from '@kapstan/api/errors';
import { type Controller, controller } from '@kapstan/controller';

export const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      copies: { type: 'integer' },
      tags: { type: 'array', items: { type: 'string' } },
    },
  },
  status: { type: 'object', properties: { ready: { type: 'integer' } } },
});
export const OldEcho = defineResource({
  group: 'demo.dev',
  version: 'v1beta1',
  kind: 'Echo',
  spec: { type: 'object', properties: { message: { type: 'string' }, copies: { type: 'integer' } } },
});
export const OldestEcho = defineResource({
  group: 'demo.dev',
  version: 'v1alpha1',
  kind: 'Echo',
  spec: { type: 'object', properties: { words: { type: 'array', items: { type: 'string' } } } },
});

/** Returns the builder, so that a test can add to it. */
export function echoBuilder() {
  return controller(Echo)
    .defaults((echo, { warn }) => {
      echo.spec.copies ??= 1;
      if (echo.spec.tags === undefined) return;
      warn('tags are sorted');
      echo.spec.tags.sort();
    })
    .validates({
      create: ({ spec }) => {
        if (spec.text === 'conflict')
          throw conflict({ group: 'demo.dev', resource: 'echos' }, 'x', 'somebody was faster');
        if (spec.text === 'broken') throw new Error('a bug');
        if (spec.text === 'rude') return 'be polite';
        return spec.text === undefined ? [requiredField('spec.text')] : [];
      },
      update: ({ spec }, { old }) =>
        spec.text === old.spec.text ? [] : [{ path: 'spec.text', value: spec.text, detail: 'field is immutable' }],
      delete: ({ metadata }) => (metadata?.labels?.kept === undefined ? undefined : 'it is kept'),
    })
    .converts({
      v1beta1: {
        resource: OldEcho,
        to: ({ spec: { message, ...spec } }) => ({ spec: message === undefined ? spec : { ...spec, text: message } }),
        from: ({ spec: { text, tags: _tags, ...spec } }) => ({
          spec: text === undefined ? spec : { ...spec, message: text },
        }),
      },
      v1alpha1: {
        resource: OldestEcho,
        to: ({ spec }) => ({ spec: { text: (spec.words ?? []).join(' ') } }),
        from: ({ spec }) => ({ spec: { words: (spec.text ?? '').split(' ') } }),
      },
    });
}

export function echoController(): Controller {
  return echoBuilder().reconcile(async () => undefined);
}
