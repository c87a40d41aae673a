package org.pinnace.digits

import android.content.Context
import android.graphics.Bitmap
import android.graphics.Canvas
import android.graphics.Color
import android.graphics.Paint
import android.graphics.RectF
import android.util.AttributeSet
import android.view.MotionEvent
import android.view.View

/** A black square to draw on in white; [onDrawn] is called when a finger is lifted. */
class Board(context: Context, attributes: AttributeSet?) : View(context, attributes) {
    var onDrawn: () -> Unit = {}

    private val bitmap = Bitmap.createBitmap(PIXELS, PIXELS, Bitmap.Config.ARGB_8888)
    private val canvas = Canvas(bitmap).apply { drawColor(Color.BLACK) }
    private val place = RectF()
    private var lastX = 0f
    private var lastY = 0f
    private val pen = Paint(Paint.ANTI_ALIAS_FLAG).apply {
        color = Color.WHITE
        strokeWidth = PIXELS / 9f
        strokeCap = Paint.Cap.ROUND
        style = Paint.Style.STROKE
    }

    /** Brightness from 0 to 255, [PIXELS] rows of [PIXELS]. */
    fun pixels(): IntArray {
        val colors = IntArray(PIXELS * PIXELS)
        bitmap.getPixels(colors, 0, PIXELS, 0, 0, PIXELS, PIXELS)
        return IntArray(colors.size) { Color.red(colors[it]) }
    }

    fun clear() {
        canvas.drawColor(Color.BLACK)
        invalidate()
    }

    override fun onDraw(canvas: Canvas) {
        super.onDraw(canvas)
        place.set(0f, 0f, width.toFloat(), height.toFloat())
        canvas.drawBitmap(bitmap, null, place, null)
    }

    override fun onTouchEvent(event: MotionEvent): Boolean {
        val x = event.x * PIXELS / width
        val y = event.y * PIXELS / height
        when (event.actionMasked) {
            MotionEvent.ACTION_DOWN -> canvas.drawPoint(x, y, pen)
            MotionEvent.ACTION_MOVE -> canvas.drawLine(lastX, lastY, x, y, pen)
            MotionEvent.ACTION_UP -> {
                performClick()
                onDrawn()
            }
            else -> return super.onTouchEvent(event)
        }
        lastX = x
        lastY = y
        invalidate()
        return true
    }

    companion object {
        const val PIXELS = 16 * Digits.SIDE
    }
}
