// The environment of expressions about requests, shared by the validation of configurations and by their evaluation.
import { RequestExpressions } from '@kapstan/apiserver/internal';

export const requestExpressions: RequestExpressions = new RequestExpressions('Namespace');
