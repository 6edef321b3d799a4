import { Controller, Get, Module } from '@nestjs/common';
import { ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import type { Server, Socket } from 'gjallar';

@Controller()
class Pages {
  @Get()
  page() {
    return { page: 'home' };
  }
}

@WebSocketGateway()
class Hall {
  @WebSocketServer()
  private readonly io!: Server;

  handleConnection(socket: Socket): void {
    socket.join('hall');
  }

  /** The returned value is the reply to the event. */
  @SubscribeMessage('say')
  say(@ConnectedSocket() socket: Socket, @MessageBody() text: string): number {
    this.io.to('hall').emit('said', socket.id, text);
    return text.length;
  }
}

@Module({ controllers: [Pages], providers: [Hall] })
export class Application {}
