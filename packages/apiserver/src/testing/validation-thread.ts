// The thread that validates large objects, for tests.
import { definitionMakers } from '../crd/definition-makers.ts';
import { definitionsId } from '../crd/definition-resource.ts';
import { builtinMaker } from '../registry/builtin-maker.ts';
import { builtinFacts } from '../registry/builtin-resource.ts';
import { runValidationThread } from '../validation/validation-thread.ts';

runValidationThread({ builtin: builtinMaker(), ...definitionMakers(() => builtinFacts(definitionsId)) });
