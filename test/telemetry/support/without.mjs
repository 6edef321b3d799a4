// Loaded into a server with --import: the packages of OpenTelemetry cannot be found, as where they are not installed.
import { register } from 'node:module';

const hooks = `export async function resolve(specifier, context, next) {
  if (!specifier.startsWith('@opentelemetry/')) return next(specifier, context);
  throw Object.assign(new Error('Cannot find package ' + specifier), { code: 'ERR_MODULE_NOT_FOUND' });
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
