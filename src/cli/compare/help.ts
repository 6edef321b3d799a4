/** The options of `gjallar compare`, for its `--help`. */
export const help = `The application runs three times, one after the other: on stock, on gjallar, and on stock again. Clients connect to it
with the same traffic each time. What differs between the two runs on stock is not compared.

  --workers N, -w N     run it with gjallar run on N workers; default: one process with gjallar/register
  --get PATH            request this path; may be repeated; default: /
  --emit 'EVENT,JSON'   send this event, such as 'say,"hello"'; may be repeated
  --ask 'EVENT,JSON'    the same, and wait for the acknowledgement; latency is measured with these
  --namespace NAME      connect to this namespace; may be repeated; default: /
  --auth JSON           authentication payload of all clients; without --driver, one client tries without it
  --header 'NAME: VALUE'  header of all clients' Socket.IO requests; may be repeated
  --driver FILE         play the steps that this JavaScript module exports instead
  --path PATH           path of Socket.IO; default: /socket.io/
  --port PORT           port of the application, if it does not listen on the one of the variable PORT
  --clients N           clients for the costs; 0 measures none; default: 100
  --rate N              messages a second of all clients together, for the costs; default: 500
  --seconds N           for how long they send; default: 5
  --messages N, --connects N   show the cores for these rates a second; default: 1000 and 10
  --settle MS           how long nothing may move before the next step; default: 100
  --start-timeout S     how long the application may take to start; default: 30
  --json                print the result as JSON
  --import MODULE       passed on to Node.js, such as --import tsx; --require, --loader, --env-file and
                        --conditions are passed on too

Clients connect to this machine only, where the application was started. Exit code: 0 without differences; 1 with some;
2 if the call is wrong or the application does not start on stock.`;
